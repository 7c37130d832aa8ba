/** Computes the address of Vertex AI, whose host names contain the region. */

/** Multi-regions. Source: Vertex AI, Deployments and endpoints (2026-11) */
const multiRegions: ReadonlySet<string> = new Set(['us', 'eu'])

/**
 * The address of Vertex AI for a call.
 *
 * @returns the URL without a slash at the end; undefined if the path names an invalid region
 */
export const vertexUrl = (path: string): string | undefined => {
  const location = /\/locations\/([^/:?]*)/.exec(path)?.[1] ?? 'global'
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(location)) return undefined
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  return multiRegions.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`
}
