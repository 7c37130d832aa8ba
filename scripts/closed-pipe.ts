/** The reader of a script's output may stop reading (`| head`). That ends the script without a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(0)
})
