export { classify, classifyAll } from './classify.ts'
export {
  codeOf,
  degradationPath,
  isPageKind,
  isResidencyLevel,
  kindOfCode,
  minFidelity,
  pageKinds,
  residencyLevels,
  type PageKind,
  type ResidencyLevel,
} from './kind.ts'
export { pagesOf, type KindSource, type Pages } from './pages.ts'
