/** The address of Vertex AI: its host contains the region, and so do its paths. */

/** Regions that are several. Source: Vertex AI, Deployments and endpoints (2026-11) */
const several: ReadonlySet<string> = new Set(['us', 'eu'])

/**
 * The address of Vertex AI for a call.
 *
 * @returns the address without a slash at its end; undefined if the path names a region that can't be one
 */
export const vertexUrl = (path: string): string | undefined => {
  const location = /\/locations\/([^/:?]*)/.exec(path)?.[1] ?? 'global'
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(location)) return undefined
  if (location === 'global') return 'https://aiplatform.googleapis.com'
  return several.has(location)
    ? `https://aiplatform.${location}.rep.googleapis.com`
    : `https://${location}-aiplatform.googleapis.com`
}
