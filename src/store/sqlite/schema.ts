/**
 * The schema of a store file. Each format is an upgrade of the one before. A file is upgraded in
 * one transaction, so a crash leaves it unchanged.
 *
 * A row's id combines its segment and its position, so that a log's rows are adjacent in the file
 * and need no index. Rows shared with a fork belong to the segment it was forked from.
 *
 * The checksums cover what no digest covers. `sum.ts` computes them from the columns named here.
 */
import type { Format } from '../port/format.ts'
import { tokensColumn } from '../port/row-tokens.ts'

/** The formats, in order, starting with format 1. */
export const formats: readonly Format[] = [
  {
    fingerprint: '04746d3a69381361ca2911464456ba8681c565ed3b39b41900978dadbd74d53a',
    sql: `
  create table format (fingerprint text not null) strict; -- one row: of the newest of these formats that the file has

  create table scope (
    key integer primary key autoincrement,
    name text not null unique,
    sum integer not null -- of name
  ) strict;

  -- The rows that one log has appended: those from "base" on. The ones before are its parent's.
  create table segment (
    key integer primary key autoincrement,
    scope integer not null,
    parent integer,
    base integer not null,
    orphan integer not null default 0, -- its log is removed; it is here for its forks only
    forks integer not null default 0,  -- how many segments have it as their parent
    sum integer not null               -- of scope, parent, base
  ) strict;
  create index segment_parent on segment (parent);

  create table log (
    key integer primary key autoincrement, -- in the order of their creation
    scope integer not null,
    id text not null,
    segment integer not null,
    size integer not null,
    entries integer not null,
    tokens integer not null,   -- the sum of those that its own rows report
    peaks blob not null,       -- the compact range: 32 bytes each, largest first
    root blob not null,
    appended integer,          -- the time of its own last row; null: it has none
    created integer not null,  -- milliseconds since 1970
    used integer not null,     -- the time of its last use, by which it is listed: appended or created, in tenths of a second
    sized integer not null,    -- entries, by which it is listed: the first three bits, and zeros
    meta text not null,
    changes integer not null,  -- the version of meta
    sum integer not null,      -- of scope, id, segment, size, entries, peaks, root, and appended if there is one
    meta_sum integer not null, -- of scope, id, created, meta, changes
    unique (scope, id)
  ) strict;
  create index log_segment on log (segment);
  create index log_created on log (scope); -- and by key
  create index log_used on log (scope, used);
  create index log_sized on log (scope, sized);
  create index log_tokens on log (scope, ${tokensColumn});

  create table row (
    id integer primary key, -- segment << 32 | position
    place integer not null, -- index among its kind << 1 | 1 for a note
    node blob not null,     -- the root of the largest perfect subtree that ends with it
    body text not null,
    at integer not null,    -- milliseconds since 1970; in the leaf, as is the salt
    salt blob,              -- 16 bytes; null: it has none
    erased blob             -- 32 bytes: the leaf of a row that was erased, whose body is a stub
  ) strict;

  create table operation (
    log integer not null, id text not null, base integer not null, size integer not null, root blob not null,
    sum integer not null, -- of all
    primary key (log, id)
  ) strict, without rowid;

  create table block (
    key integer primary key autoincrement,
    scope integer not null,
    id blob not null,
    uses integer not null, -- how many rows speak of it
    kept integer not null, -- 1: it was put on its own, and stays
    sum integer not null,  -- of scope, id, kept
    unique (scope, id)
  ) strict;
  create table content (
    block integer primary key,
    bytes blob not null,
    size integer -- of the bytes that zstd makes of these; null: they are not compressed
  ) strict;
  create table mention (
    row integer not null,
    block integer not null,
    sum integer not null, -- of the segment and the position in row, and of block
    primary key (row, block)
  ) strict, without rowid;
  create index mention_block on mention (block);

  create table lease (
    log integer primary key,
    number integer not null,                  -- the fencing number: counts the leases that were given
    holder text,                              -- null: nobody
    expires integer not null,                 -- milliseconds since 1970, by the clock of this machine
    stop_requested integer not null default 0 -- 1: the holder is asked to stop
  ) strict;

  -- Beside a log: what can be made again from it.
  create table state (log integer primary key, text text not null) strict;

  -- A row as long as the file may still have bytes of erased rows that nothing refers to: they were not all removed yet.
  create table residue (key integer primary key) strict;
  `,
  },
]

/** "INDE": marks a file of this library. */
export const applicationId = 0x494e4445
/** "INDL": marks a file of an early development version, which numbered its formats differently. */
export const olderApplicationId = 0x494e444c

/** SQL as it is stored in a file: without comments and indentation, so that the schema of a new file fits in its first page. */
export const shortSql = (sql: string): string => sql.replaceAll(/--.*|^ +/gm, '')
