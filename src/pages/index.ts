export { classify, classifyAll } from './classify.ts'
export {
  degradationPath,
  isPageKind,
  isResidencyLevel,
  minFidelity,
  pageKinds,
  residencyLevels,
  type PageKind,
  type ResidencyLevel,
} from './kind.ts'
export { createSidecar, type Pages, type Sidecar } from './sidecar.ts'
