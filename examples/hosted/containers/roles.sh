#!/bin/sh
# Makes the database and its roles when PostgreSQL starts for the first time: the owner of the tables, and the servers',
# who own nothing, so that row-level security holds for them. The secret "roles" has a password for each, in this order.
set -eu
{
  read -r owner
  read -r server
} </run/secrets/roles
psql --set=ON_ERROR_STOP=1 --set=owner="$owner" --set=server="$server" --username=postgres <<'SQL'
CREATE ROLE task_owner LOGIN PASSWORD :'owner';
CREATE ROLE task_server LOGIN PASSWORD :'server';
CREATE DATABASE tasks OWNER task_owner;
SQL
