/**
 * What a store file holds. Each version is a step from the one before; a file is brought up to date in one transaction,
 * so a crash leaves it as it was.
 *
 * A row's id is its segment and its position in one number, so that a log's rows lie side by side in the file and no
 * index beside them is needed. What a fork shares stays with the segment that it was forked from.
 */
export const steps: readonly Step[] = [
  {
    columns: '',
    rest: `
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
  },
  // Sums of what no digest covers, and what makes counts checkable before anything is removed. No row is written again but
  // the segments that have forks: -1 says that a row has no sum yet. A process of an older version that still has the file
  // open would write without sums: it finds no column "version" any more, and fails.
  {
    columns: `
  alter table scope add column sum integer default -1;             -- of name
  alter table segment add column forks integer not null default 0; -- how many segments have it as their parent
  alter table segment add column sum integer default -1;           -- of scope, parent, base
  alter table log add column head_sum integer default -1;          -- of scope, id, segment, size, entries, peaks, root
  alter table log add column meta_sum integer default -1;          -- of scope, id, created, meta, changes
  alter table operation add column sum integer default -1;         -- of all
  alter table block add column sum integer default -1;             -- of scope, id, kept
  alter table mention add column sum integer default -1;           -- of the segment and the position in row, and of block
  `,
    rest: `
  alter table log rename column version to changes;
  create index mention_block on mention (block);
  create index log_segment on log (segment);
  update segment set forks = (select count(*) from segment fork where fork.parent = segment.key)
    where key in (select parent from segment where parent is not null);
  `,
  },
  // What a row says beside its text, and who works on a log. No row is written again, however many there are: those of
  // before have neither time nor salt. A process of an older version that still has the file open would compute other
  // leaves: it finds no column "head_sum" any more, and fails.
  {
    columns: `
  alter table row add column at integer;       -- milliseconds since 1970; in the leaf, as is the salt
  alter table row add column salt blob;        -- 16 bytes
  alter table log add column appended integer; -- the time of its own last row
  `,
    rest: `
  alter table log rename column head_sum to sum;
  create table lease (
    log integer primary key,
    number integer not null,                   -- the fencing number: counts the leases that were given
    holder text,                               -- null: nobody
    expires integer not null,                  -- milliseconds since 1970, by the clock of this machine
    stop_requested integer not null default 0  -- 1: the holder is asked to stop
  ) strict;
  `,
  },
  // What erasing leaves of a row. No row is written again. A process of an older version that still has the file open would
  // take an erased row for a damaged one, and change nothing.
  {
    columns: `
  alter table row add column erased blob; -- 32 bytes: the leaf of a row that was erased, whose body is a stub
  `,
    rest: `
  -- A row as long as the file may still have bytes of erased rows that nothing refers to: they were not all removed yet.
  create table residue (key integer primary key) strict;
  `,
  },
]

/** A step from one version to the next. */
export interface Step {
  /** Statements that add columns to tables. */
  readonly columns: string
  /** Statements that do the rest. */
  readonly rest: string
}

/** "INDL": whose file it is. */
export const applicationId = 0x494e444c
