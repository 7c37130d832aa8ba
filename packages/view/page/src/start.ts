/** Starts the page, or its worker: both are this script. */
import { startPage } from './main.tsx'
import { startWorker } from './context/worker.ts'

if (typeof document === 'undefined') startWorker()
else startPage()
