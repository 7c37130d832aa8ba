/** Starts the page, or its worker: both are this script. */
void (typeof document === 'undefined' ? import('./worker.ts') : import('./main.tsx'))
