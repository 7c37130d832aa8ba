/** The suites that play an attacker: `npm run attack` runs them at full size. */

/** What each suite attacks, and its files. A new suite is a line here. */
export const suites: { readonly [what: string]: readonly string[] } = {
  'a record, from inside of the process and with polluted names': [
    'test/history/attack.test.ts',
    'test/history/foreign-values.test.ts',
    'test/history/polluted.test.ts',
  ],
  'stored rows and blocks': [
    'test/session/tamper.test.ts',
    'test/store/flips.test.ts',
    'test/store/zeroed-page.test.ts',
    'test/store/check.test.ts',
  ],
  'a session, with polluted names': ['test/session/polluted.test.ts'],
  "the library's own logs, and names": ['test/store/own-logs.test.ts', 'test/store/half-pairs.test.ts'],
  'a recorder: framing, odd requests, large ones': [
    ...[
      'packages/recorder/test/hostile.test.ts',
      'packages/recorder/test/bounds.test.ts',
      'packages/recorder/test/budgets.test.ts',
      'packages/recorder/test/linear.test.ts',
    ],
    ...[
      'packages/recorder/test/proxy/framing.property.test.ts',
      'packages/recorder/test/proxy/proxy.test.ts',
      'packages/recorder/test/proxy/spool.test.ts',
    ],
  ],
  'parsers of what others wrote': [
    'packages/transcripts/test/hostile.test.ts',
    'packages/records/test/hostile.test.ts',
    'test/codecs/gemini-hostile.test.ts',
    'test/redact/hidden.test.ts',
  ],
  'encrypted sessions': ['packages/encryption/test/attacks.test.ts', 'packages/encryption/test/every-log.test.ts'],
  'erasure and its receipts': [
    'test/session/erase.test.ts',
    'test/session/erase-files.test.ts',
    'test/session/erased-elsewhere.test.ts',
    'test/store/erase.test.ts',
  ],
  'holds, ledgers, signers, bundles': [
    ...[
      'packages/evidence/test/holds.test.ts',
      'packages/evidence/test/holds.property.test.ts',
      'packages/evidence/test/ledger.test.ts',
      'packages/evidence/test/signer.test.ts',
      'packages/evidence/test/signed-note.test.ts',
    ],
    ...['packages/evidence/test/bundle-grammar.test.ts', 'packages/evidence/test/go.test.ts'],
  ],
  'the page and its files': [
    'packages/view/test/html.test.ts',
    'packages/view/test/server.test.ts',
    'packages/view/test/page/markdown.test.ts',
  ],
}
