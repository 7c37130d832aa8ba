/**
 * The schema of a store file. Each format is an upgrade of the one before. A file is upgraded in
 * one transaction, so a crash leaves it unchanged. `sum_of` in SQL is `sumOf`.
 *
 * A row's id combines its segment and its position, so that a log's rows are adjacent in the file
 * and need no index. Rows shared with a fork belong to the segment it was forked from.
 *
 * Checksums (`sum.ts`) cover the columns that no leaf covers and that nothing derives. All else can be rebuilt from
 * the rows, by `repair`: heads, counts, the orders of lists, nodes and places, mentions.
 */
import type { DatabaseSync } from 'node:sqlite'
import type { Format } from '../port/format.ts'
import { tokensColumn } from '../port/row-tokens.ts'
import { unpackAny } from './packed.ts'
import { sumOf } from './sum.ts'

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
  {
    fingerprint: 'd65557540ab729ec7f02b37fb146ca867e322af290ad60d07f2c4e83391c242f',
    sql: `
  -- The sum of a log is now of scope, id, segment: its rows give the rest. A wrong one stays wrong.
  update log set sum = sum_of(scope, id, segment) where sum = case when appended is null
    then sum_of(scope, id, segment, size, entries, peaks, root)
    else sum_of(scope, id, segment, size, entries, peaks, root, appended) end;

  -- The mentions of a block are counted when they are needed.
  alter table block drop column uses;
  alter table mention drop column sum;

  -- How many blocks the row names, each with a mention; null: none. A lost mention is found by it.
  alter table row add column blocks integer;
  update row set blocks = (select count(*) from mention where mention.row = row.id) where id in (select row from mention);
  create index row_blocks on row (id, blocks) where blocks is not null;

  -- Compressed to less than a 256th, which is no longer read.
  update content set bytes = whole_of(bytes, size), size = -1 where size > 256 * length(bytes);

  drop table state;
  `,
  },
]

/** The most bytes that an upgrade unpacks: a small file must not fill the disk. */
const mostUnpacked = 1 << 30

/** Run the statements of formats. */
export const applyFormats = (db: DatabaseSync, steps: readonly Format[]): void => {
  let unpacked = 0
  db.function('whole_of', { deterministic: true }, (bytes, size) => {
    unpacked += Number(size)
    if (unpacked > mostUnpacked) throw new Error('its compressed blocks have more than 1 GiB: it may be forged')
    return unpackAny({ bytes: bytes as Uint8Array, size: Number(size) })
  })
  db.function('sum_of', { varargs: true, deterministic: true, useBigIntArguments: true }, (...columns) =>
    sumOf(...columns),
  )
  for (const { sql } of steps) db.exec(shortSql(sql))
}

/** "INDE": marks a file of this library. */
export const applicationId = 0x494e4445
/** "INDL": marks a file of an early development version, which numbered its formats differently. */
export const olderApplicationId = 0x494e444c

/** SQL as it is stored in a file: without comments and indentation, so that the schema of a new file fits in its first page. */
export const shortSql = (sql: string): string => sql.replaceAll(/--.*|^ +/gm, '')
