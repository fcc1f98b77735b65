"""Claims: tasks that one agent holds, which no other changes meanwhile."""
