/**
 * What a store file holds. Each version is a step from the one before; a file is brought up to date in one transaction,
 * so a crash leaves it as it was.
 *
 * A row's id is its segment and its position in one number, so that a log's rows lie side by side in the file and no
 * index beside them is needed. What a fork shares stays with the segment that it was forked from.
 */
export const steps: readonly string[] = [
  `
  create table scope (key integer primary key autoincrement, name text not null unique) strict;

  -- The rows that one log has appended: those from "base" on. The ones before are its parent's.
  create table segment (
    key integer primary key autoincrement,
    scope integer not null,
    parent integer,
    base integer not null,
    orphan integer not null default 0 -- its log is removed; it is here for its forks only
  ) strict;
  create index segment_parent on segment (parent);

  create table log (
    key integer primary key autoincrement, -- in the order of their creation
    scope integer not null,
    id text not null,
    segment integer not null,
    size integer not null,
    entries integer not null,
    peaks blob not null, -- the compact range: 32 bytes each, largest first
    root blob not null,
    created integer not null,
    meta text not null,
    version integer not null,
    unique (scope, id)
  ) strict;

  create table row (
    id integer primary key,  -- segment << 32 | position
    place integer not null,  -- index among its kind << 1 | 1 for a note
    node blob not null,      -- the root of the largest perfect subtree that ends with it
    body text not null
  ) strict;

  create table operation (
    log integer not null, id text not null, base integer not null, size integer not null, root blob not null,
    primary key (log, id)
  ) strict, without rowid;

  create table block (
    key integer primary key autoincrement,
    scope integer not null,
    id blob not null,
    uses integer not null, -- how many rows speak of it
    kept integer not null, -- 1: it was put on its own, and stays
    unique (scope, id)
  ) strict;
  create table content (block integer primary key, bytes blob not null) strict;
  create table mention (row integer not null, block integer not null, primary key (row, block)) strict, without rowid;
  `,
]

/** "INDL": whose file it is. */
export const applicationId = 0x494e444c
