/**
 * The tables of a store's schema. Each format is an upgrade of the one before. A schema is upgraded in one
 * transaction. Some clusters commit each table separately; there the next opening continues an interrupted
 * upgrade, so every statement has no effect if repeated. The table `indelible` records the format.
 *
 * The scope is the first column of every key, and every statement names one scope, so a cluster can distribute the
 * tables by it. Keys are counted per scope, without sequences, so they are in creation order on every server. A log
 * and its own segment have the same key. Rows shared with a fork belong to the segment it was forked from.
 */
import type { Format } from 'indelible/internal/store'

/** The formats, in order, for a schema with this quoted name, starting with format 1. */
export const formatsFor = (schema: string): readonly Format[] => [
  {
    fingerprint: 'a7df374e8ac75a6e3f854ca0b8531f0e9f210c906a228c5a2c8b0a885629a30a',
    sql: `
  create table if not exists ${schema}.scope (name text primary key, last bigint not null);

  create table if not exists ${schema}.log (
    scope text not null,
    id text collate "C" not null, -- listed in the order of its bytes
    key bigint not null,
    segments bigint[] not null,  -- those that hold its rows, in order: the last is its own
    bases bigint[] not null,     -- the position of the first row of each
    size bigint not null,
    entries bigint not null,
    tokens bigint not null,      -- the sum of those that its own rows report
    peaks bytea not null,        -- the compact range: 32 bytes each, largest first
    root bytea not null,
    appended bigint,             -- the time of its own last row; null: it has none
    created bigint not null,     -- milliseconds since 1970
    used bigint not null,        -- the time of its last use, by which it is listed: appended or created, in seconds
    sized bigint not null,       -- entries, by which it is listed: the first three bits, and zeros
    meta text not null,
    changes bigint not null,     -- the version of meta
    terms bigint[] not null,     -- what its metadata says, each as a part of a digest
    created_sum bigint not null, -- of scope, id, created
    meta_sum bigint not null,    -- of scope, id, meta, changes
    primary key (scope, id),
    unique (scope, key)
  );
  create index if not exists log_used on ${schema}.log (scope, used);
  create index if not exists log_sized on ${schema}.log (scope, sized, key);
  create index if not exists log_terms on ${schema}.log using gin (terms);

  create table if not exists ${schema}.segment (
    scope text not null,
    key bigint not null,
    parent bigint,
    base bigint not null,
    state smallint not null, -- 0: of a log; 1: its log is removed; 2: and its rows are, except those that forks share
    primary key (scope, key)
  );
  create index if not exists segment_parent on ${schema}.segment (scope, parent);
  create index if not exists segment_removed on ${schema}.segment (scope, key) where state = 1;

  create table if not exists ${schema}.row (
    scope text not null,
    segment bigint not null,
    position bigint not null,
    place bigint not null, -- index among its kind * 2, and 1 more for a note
    node bytea not null,   -- the root of the largest perfect subtree that ends with it
    body text not null,    -- U+0000 and U+0001 stand as U+0001 and a digit
    at bigint not null,    -- milliseconds since 1970; in the leaf, as is the salt
    salt bytea,            -- 16 bytes; null: it has none
    erased bytea,          -- 32 bytes: the leaf of a row that was erased, whose body is a stub
    primary key (scope, segment, position)
  );

  create table if not exists ${schema}.operation (
    scope text not null,
    log bigint not null,
    id text not null,
    base bigint not null,
    size bigint not null,
    root bytea not null,
    primary key (scope, log, id)
  );

  create table if not exists ${schema}.block (
    scope text not null,
    id bytea not null,
    kept boolean not null, -- it was put on its own, and stays
    bytes bytea not null,
    primary key (scope, id)
  );

  create table if not exists ${schema}.mention (
    scope text not null,
    segment bigint not null,
    position bigint not null,
    block bytea not null,
    primary key (scope, segment, position, block),
    foreign key (scope, block) references ${schema}.block (scope, id)
  );
  create index if not exists mention_block on ${schema}.mention (scope, block);

  create table if not exists ${schema}.lease (
    scope text not null,
    log bigint not null,
    number bigint not null,       -- the fencing number: counts the leases that were given
    holder text,                  -- null: nobody
    expires timestamptz not null, -- by the clock of the server
    stop_requested boolean not null default false,
    primary key (scope, log)
  );

  -- Beside a log: what can be made again from it.
  create table if not exists ${schema}.state (
    scope text not null,
    log bigint not null,
    text text not null,
    primary key (scope, log)
  );
  `,
  },
  {
    fingerprint: '727b6f4a9944e0f2ace4efdecdbe773c58ee25e2fa1d8751d06fc09fd223bc5c',
    sql: `drop table if exists ${schema}.state;`,
  },
  {
    fingerprint: '83ef237737c79850b067894ba1e80f71e0f57053b95f2270756bc18efa6121d7',
    sql: `
  -- How many blocks the row names, each with a mention; null: none. A lost mention is found by it.
  alter table ${schema}.row add column if not exists blocks bigint;
  update ${schema}.row r set blocks = m.blocks
    from (select scope, segment, position, count(*) as blocks from ${schema}.mention group by scope, segment, position) m
    where r.scope = m.scope and r.segment = m.segment and r.position = m.position and r.blocks is null;
  create index if not exists row_blocks on ${schema}.row (scope, segment, position) where blocks is not null;
  `,
  },
]

export const quoteIdentifier = (identifier: string): string => `"${identifier.replaceAll('"', '""')}"`
export const unquoteIdentifier = (identifier: string): string => identifier.slice(1, -1).replaceAll('""', '"')
