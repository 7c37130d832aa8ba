/** Rules: what a secret looks like. */

/** What is taken out of texts before they are recorded. */
export interface RedactRule {
  /** The name of the rule, which stands in place of what it took out. Letters, digits and hyphens. */
  readonly name: string
  /** What is taken out: everything that it matches; or its group named `secret`, if it has one. */
  readonly pattern: RegExp
  /** The pattern is tried only on texts with one of these words. Default: on every text. */
  readonly words?: readonly string[]
  /**
   * Whether it can match text with white space. If so, text that streams is not written to a journal before its block is
   * whole, for it could be the beginning of a match. Default: true.
   */
  readonly spaces?: boolean
}

/** A rule for tokens without white space, whose form starts with one of these words. */
const token = (name: string, words: readonly string[], pattern: RegExp): RedactRule => ({
  name,
  pattern,
  words,
  spaces: false,
})

/** The beginning of a private key: PEM, OpenSSH and PGP. */
export const keyBegin = '-----BEGIN'

/**
 * Formats of secrets that can be told by their form: they begin with letters that their issuer chose for it. Passwords
 * and other secrets without a form are not found; give rules of your own.
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
    spaces: false, // what may be the beginning of a key is held back by name
    pattern:
      /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|(?:[A-Za-z0-9+/=:,. \t\r\n]|\\[rnt/]){16,20000})/g,
  },
  token('anthropic-key', ['sk-ant-'], /\bsk-ant-[a-z]{2,10}\d{2}-[\w-]{20,400}/g),
  token('openrouter-key', ['sk-or-'], /\bsk-or-v\d-[0-9a-f]{64}\b/g),
  token(
    'openai-key',
    ['sk-'],
    /\bsk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,400}|[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}|[A-Za-z0-9]{48}\b)/g,
  ),
  token('google-key', ['AIza'], /\bAIza[\w-]{35}(?![\w-])/g),
  token('google-oauth', ['GOCSPX-', 'ya29.'], /\b(?:GOCSPX-[\w-]{28}|ya29\.[\w-]{20,2000})/g),
  token('aws-access-key-id', ['AKIA', 'ASIA', 'ABIA', 'ACCA'], /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b/g),
  {
    name: 'aws-secret-access-key',
    words: ['ecret', 'ECRET'],
    spaces: false,
    pattern: /secret_?access_?key\W{1,6}(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/gi,
  },
  token('azure-storage-key', ['AccountKey='], /\bAccountKey=(?<secret>[A-Za-z0-9+/]{86}==)/g),
  token('github-token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], /\bgh[pousr]_[A-Za-z0-9]{36,255}\b/g),
  token('github-token', ['github_pat_'], /\bgithub_pat_[A-Za-z0-9_]{22,255}\b/g),
  token('gitlab-token', ['gl'], /\bgl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[\w.-]{20,300}/g),
  token('npm-token', ['npm_'], /\bnpm_[A-Za-z0-9]{36}\b/g),
  token('npm-token', ['_authToken='], /_authToken=(?<secret>[\w.+/=-]{20,400})/g),
  token('pypi-token', ['pypi-'], /\bpypi-AgE[\w-]{50,400}/g),
  token('rubygems-key', ['rubygems_'], /\brubygems_[0-9a-f]{48}\b/g),
  token('docker-token', ['dckr_'], /\bdckr_[op]at_[\w-]{27,64}/g),
  token('huggingface-token', ['hf_'], /\bhf_[A-Za-z0-9]{34,64}\b/g),
  token('groq-key', ['gsk_'], /\bgsk_[A-Za-z0-9]{52}\b/g),
  token('xai-key', ['xai-'], /\bxai-[A-Za-z0-9]{80}\b/g),
  token('perplexity-key', ['pplx-'], /\bpplx-[A-Za-z0-9]{40,64}\b/g),
  token('replicate-token', ['r8_'], /\br8_[A-Za-z0-9]{37}\b/g),
  token('slack-token', ['xox', 'xapp-'], /\b(?:xox[abeoprs](?:\.xox[bp])?-[\w-]{10,400}|xapp-\d-[\w-]{10,400})/g),
  token('slack-webhook', ['hooks.slack.com'], /hooks\.slack\.com\/(?:services|workflows)\/(?<secret>[\w/]{20,200})/g),
  token(
    'stripe-key',
    ['_live_', '_test_', 'whsec_'],
    /\b(?:[rs]k_(?:live|test)_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{24,100})/g,
  ),
  token('sendgrid-key', ['SG.'], /\bSG\.[\w-]{22}\.[\w-]{43}(?![\w-])/g),
  token('shopify-token', ['shp'], /\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}\b/g),
  token('digitalocean-token', ['_v1_'], /\bdo[opr]_v1_[0-9a-f]{64}\b/g),
  token('databricks-token', ['dapi'], /\bdapi[0-9a-f]{32}(?:-\d)?\b/g),
  token('vault-token', ['hvs.', 'hvb.'], /\bhv[sb]\.[\w-]{24,400}/g),
  token('linear-key', ['lin_'], /\blin_(?:api|oauth)_[A-Za-z0-9]{40,64}\b/g),
  token('notion-token', ['ntn_'], /\bntn_[A-Za-z0-9]{40,64}\b/g),
  token('telegram-token', [':AA'], /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g),
  token('age-key', ['AGE-SECRET-KEY-1'], /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g),
  token('signing-key', ['PRIVATE+KEY+'], /\bPRIVATE\+KEY\+[^\s+"\\]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/=]{40,}/g),
  token('jwt', ['eyJ'], /\beyJ[\w-]{10,4000}\.eyJ[\w-]{10,8000}\.[\w-]{10,2000}/g),
  token('bearer-token', ['earer', 'EARER'], /\bbearer\s{1,4}(?<secret>[\w.~+/-]{20,4000}=*)/gi),
  token(
    'basic-credentials',
    ['asic', 'ASIC'],
    /\bauthorization\W{1,6}basic\s{1,4}(?<secret>[A-Za-z0-9+/]{8,1000}=*)/gi,
  ),
  token(
    'url-password',
    ['://'],
    /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`]{0,64}:(?<secret>[^\s/@"'`$<{[]{3,200})(?=@[\w[])/gi,
  ),
])
