/** The options of commands in earlier versions, each with what to call instead. */
export const formerOptions: { readonly [command: string]: { readonly [option: string]: string } | undefined } = {
  import: { '--from': '"indelible keep --only PROGRAM"', '--watch': '"indelible keep --install"' },
  search: { '--index': '"indelible index"' },
}

/** The names of commands in earlier versions, each with what to call instead. */
export const formerNames: { readonly [name: string]: string | undefined } = {
  chat: 'the loop of docs/start/loop.md, in a program of your own',
  check: '"indelible show FILE --check"',
  'check-proof': '"indelible prove --check FILE"',
  convert: '"indelible export FILE --to FORMAT"',
  head: '"indelible prove SESSION"',
  records: 'the example history-use.ts of the package @indelible/records',
  release: '"indelible hold --release SESSION"',
  replay: '"indelible context FILE --compare"',
  scopes: '"indelible list --scopes"',
  sessions: '"indelible list --machine"',
  stats: '"indelible spend --by day,model"',
  tail: '"indelible show SESSION --follow"',
  tree: '"indelible list --tree"',
}
