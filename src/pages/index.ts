export { classify } from './classify.ts'
export {
  degradationPath,
  isPageKind,
  minFidelity,
  pageKinds,
  residencyLevels,
  type PageKind,
  type ResidencyLevel,
} from './kind.ts'
