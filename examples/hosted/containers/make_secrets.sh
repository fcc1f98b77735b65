#!/usr/bin/env bash
# Makes up the passwords of the compose file, unless they are there. Only their folder is private: in it, the files are
# for the users of the containers, whom this machine does not know.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
if [ -e secrets ]; then
  echo "The folder secrets is there already; remove it, and the volume of the database, to begin anew." >&2
  exit 1
fi
mkdir -m 700 secrets
umask 222
password() { head -c 24 /dev/urandom | base64 | tr '+/' '-_'; }
owner=$(password) server=$(password)
password >secrets/superuser
printf '%s\n' "$owner" "$server" >secrets/roles
printf '[owner]\npassword=%s\n' "$owner" >secrets/owner
printf '[server]\npassword=%s\n' "$server" >secrets/server
