/** Rules that describe what secrets look like. */

/** A rule for secrets to remove before recording. */
export interface RedactRule {
  /** The rule's name, shown in place of the secret. Letters, digits and hyphens. */
  readonly name: string
  /**
   * What to remove: the whole match, or its group named `secret`, if it has one. In JSON your own rules see each string
   * and number alone, and each value with its key: a pattern that needs several values finds nothing there.
   */
  readonly pattern: RegExp
  /** Only texts with one of these words are searched, in any case if the pattern has the flag `i`. Default: all texts. */
  readonly words?: readonly string[]
  /**
   * Whether the pattern can match white space. If so, streaming text is not journaled until its
   * block is complete, because it could be the start of a match. Default: true.
   */
  readonly spaces?: boolean
}

/** A rule for tokens without white space whose format starts with one of these words. */
const token = (name: string, words: readonly string[], pattern: RegExp): RedactRule => ({
  name,
  pattern,
  words,
  spaces: false,
})

/** The start of a private key: PEM, OpenSSH and PGP. */
export const keyBegin = '-----BEGIN'

/**
 * Secret formats with a recognizable prefix chosen by their issuer. Passwords and other secrets without a format are
 * not found; add your own rules for them.
 *
 * No pattern needs a boundary before or after it, because tokens follow words and each other directly. Each unbounded
 * repetition is a single character class that excludes or includes the start of the pattern, so that hostile text is
 * scanned a bounded number of times.
 *
 * Source  each issuer's own documentation of its tokens, as read in November 2026: GitHub ("Behind GitHub's new
 *         authentication token formats"), GitLab ("Token overview"), Slack ("Token types"), AWS IAM ("Unique
 *         identifiers"), Stripe ("API keys"), npm, PyPI, RubyGems, Docker, Hugging Face, Google Cloud, SendGrid,
 *         Shopify, DigitalOcean, HashiCorp Vault, Telegram; RFC 7468 (PEM), RFC 7519 (JWT), RFC 6750 (Bearer), RFC 3986
 */
export const secretRules: readonly RedactRule[] = Object.freeze([
  {
    name: 'private-key',
    words: [keyBegin],
    spaces: false, // `ready` checks for a key's start separately
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]*(?:-{1,4}[^-]+){0,100}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=:,. \t\r\n]{16,20000})/g,
  },
  token('anthropic-key', ['sk-ant-'], /sk-ant-[a-z]{2,10}\d{2}-[\w-]{20,}/g),
  token('openrouter-key', ['sk-or-'], /sk-or-v\d-[0-9a-f]{64}/g),
  token(
    'openai-key',
    ['sk-'],
    // `risk-admin-…` is a name: keys are not preceded by `ri`. A key without a distinct format
    // (also DeepSeek's and others') has a digit, and no letter or digit before it.
    /(?<!ri)sk-(?:proj|svcacct|admin|None)-(?=[a-z0-9_-]{0,60}[A-Z])[\w-]{20,}|sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|sk-(?=[a-z0-9]{0,47}[A-Z])(?=[A-Z0-9]{0,47}[a-z])[A-Za-z0-9]{48}|(?<![A-Za-z0-9])sk-(?=[A-Za-z]{0,47}\d)[A-Za-z0-9]{20,}/g,
  ),
  token('google-key', ['AIza'], /AIzaSy[\w-]{33}|\bAIza[\w-]{35}(?![\w-])/g),
  token('google-oauth', ['GOCSPX-', 'ya29.'], /GOCSPX-[\w-]{28}|ya29\.[\w-]{20,}/g),
  token('aws-access-key-id', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], /(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}/g),
  {
    name: 'aws-secret-access-key',
    words: ['secret'],
    spaces: false,
    pattern: /secret[_-]?access[_-]?key\W{1,6}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  token('azure-storage-key', ['AccountKey='], /AccountKey=(?<secret>[A-Za-z0-9+/]{86}==)/g),
  token('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], /gh[pousr]_[A-Za-z0-9]{36,}/g),
  token('github-token', ['github_pat_'], /github_pat_[A-Za-z0-9_]{22,}/g),
  token('gitlab-token', ['gl'], /gl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[\w.-]{20,}/g),
  token('npm-token', ['npm_'], /npm_[A-Za-z0-9]{36}/g),
  token('npm-token', ['_authToken='], /_authToken=(?<secret>[\w.+/=-]{20,})/g),
  token('pypi-token', ['pypi-'], /pypi-AgE[\w-]{50,}/g),
  token('rubygems-key', ['rubygems_'], /rubygems_[0-9a-f]{48}/g),
  token('docker-token', ['dckr_'], /dckr_[op]at_[\w-]{27,}/g),
  token('huggingface-token', ['hf_'], /hf_[A-Za-z0-9]{34,}/g),
  token('groq-key', ['gsk_'], /gsk_[A-Za-z0-9]{52}/g),
  token('xai-key', ['xai-'], /xai-[A-Za-z0-9]{80}/g),
  token('perplexity-key', ['pplx-'], /pplx-[A-Za-z0-9]{40,}/g),
  token('replicate-token', ['r8_'], /r8_[A-Za-z0-9]{37}/g),
  token('slack-token', ['xox', 'xapp-'], /xox[abeoprs](?:\.xox[bp])?-[\w-]{10,}|xapp-\d-[\w-]{10,}/g),
  token('slack-webhook', ['hooks.slack.com'], /hooks\.slack\.com\/(?:services|workflows)\/(?<secret>[\w/]{20,})/g),
  token(
    'stripe-key',
    ['_live_', '_test_', 'whsec_'],
    // `task_test_…` is a name; a key has digits.
    /[rs]k_(?:live|test)_(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/=]{24,}/g,
  ),
  token('sendgrid-key', ['SG.'], /SG\.[\w-]{22}\.[\w-]{43}/g),
  token('shopify-token', ['shp'], /shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}/g),
  token('digitalocean-token', ['_v1_'], /do[opr]_v1_[0-9a-f]{64}/g),
  token('databricks-token', ['dapi'], /dapi[0-9a-f]{32}(?:-\d)?/g),
  token('vault-token', ['hvs.', 'hvb.'], /hv[sb]\.[\w-]{24,}/g),
  token('linear-key', ['lin_'], /lin_(?:api|oauth)_[A-Za-z0-9]{40,}/g),
  token('notion-token', ['ntn_'], /ntn_[A-Za-z0-9]{40,}/g),
  token('telegram-token', [':AA'], /\d{8,10}:AA[\w-]{33}/g),
  token('age-key', ['AGE-SECRET-KEY-1'], /AGE-SECRET-KEY-1[0-9A-Z]{58}/g),
  token('signing-key', ['PRIVATE+KEY+'], /PRIVATE\+KEY\+[^\s+"\\]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}/g),
  token(
    'jwt',
    ['.eyJ'],
    // Starts where a run of letters starts, and only if a token can follow, so that each run is read twice at most.
    /(?<![\w-])(?=[\w-]{13,}\.eyJ[\w-]{10,}\.[\w-]{10})[\w-]*?(?<secret>eyJ[\w-]{10,}\.eyJ[\w-]{10,}(?:\.[\w-]{10,}){1,20})/g,
  ),
  token('bearer-token', ['bearer'], /bearer\s{1,4}(?<secret>[\w.~+/-]{20,}=*)/gi),
  token('basic-credentials', ['basic'], /authorization\W{1,6}basic\s{1,4}(?<secret>[A-Za-z0-9+/]{8,}=*)/gi),
  token(
    'url-password',
    ['://'],
    // Placeholders are not passwords: `${…}`, `$(…)`, `$NAME`, `{…}`, `<…>`, `[…]`.
    /:\/\/[^\s/:@"'`]{0,200}:(?!(?:\$?\{[^\s/@"']{0,200}\}|\$\([^\s/@"']{0,200}\)|\$[A-Z_][A-Z0-9_]{0,200}|<[^\s/@"']{0,200}>|\[[^\s/@"']{0,200}\])@)(?<secret>[^\s/@"']{3,})(?=@[\w[])/g,
  ),
])
