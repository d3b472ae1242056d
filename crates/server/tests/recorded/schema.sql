create table people (id bigint not null, name text, born date, active boolean not null, income double precision);
create table visits (person bigint not null, at timestamp, place text not null, cost double precision);
create table "Odd Name" ("Mixed Case" text, "select" bigint not null);
alter table people owner to pg_database_owner;
alter table visits owner to pg_database_owner;
alter table "Odd Name" owner to pg_database_owner;
