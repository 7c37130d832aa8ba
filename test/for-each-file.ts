/** What a helper does anew for each test file that uses it: files of one process share the helper's module. */
export const forEachFile: Set<() => void> = new Set<() => void>()
