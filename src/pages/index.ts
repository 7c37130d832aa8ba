export {
  classify,
  degradationPath,
  isPageKind,
  minFidelity,
  pageKinds,
  residencyLevels,
  type PageKind,
  type ResidencyLevel,
} from './kind.ts'
