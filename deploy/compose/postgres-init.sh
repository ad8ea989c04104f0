#!/bin/sh
# The role and database of Recollect, and what only a superuser may do for it (docs/operations.md).
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$POSTGRES_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
create role recollect login password :'password';
create role recollect_app;
create role recollect_worker;
grant recollect_app, recollect_worker to recollect;
create database recollect owner recollect encoding 'UTF8' template template0;
\connect recollect
create extension vector;
SQL
