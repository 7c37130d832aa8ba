/** Every fault of the library, and its sentence for people. */
import { historyFaultText, type HistoryFault } from './history/index.ts'
import { codecFaultText, messageFaultText, pairingFaultText, type CodecFault, type MessageFault, type PairingFault } from './message/index.ts'
import { noteFaultText, type NoteFault } from './notes/index.ts'
import { refsFaultText, type RefsFault } from './refs/index.ts'
import { sessionFaultText, type SessionFault } from './session/index.ts'
import { storeFaultText, type StoreFault } from './store/index.ts'

export type Fault = MessageFault | CodecFault | PairingFault | NoteFault | HistoryFault | RefsFault | SessionFault | StoreFault

/** A fault as a sentence: what happened, where, and what to do next. */
export const faultMessage = (fault: Fault): string => {
  switch (fault._tag) {
    case 'UnexpectedShape':
    case 'NotPlainJson':
      return messageFaultText(fault)
    case 'InvalidJson':
    case 'UnknownFormat':
    case 'UnexpectedWire':
    case 'WireNotJson':
    case 'UnresolvedBlock':
    case 'DamagedLine':
    case 'NoSuchConversation':
      return codecFaultText(fault)
    case 'Unsettled':
      return pairingFaultText(fault)
    case 'NotANote':
      return noteFaultText(fault)
    case 'NotSavedHistory':
    case 'UndecodableMessage':
    case 'UnrecordableMessage':
    case 'TooManyPages':
    case 'UnknownPage':
    case 'NotADelta':
    case 'DeltaGap':
    case 'DeltaMismatch':
      return historyFaultText(fault)
    case 'MalformedBlock':
    case 'OtherScope':
    case 'UnreadableHistory':
    case 'NewerRefs':
    case 'MissingKeys':
    case 'MalformedContent':
      return refsFaultText(fault)
    case 'SessionConflict':
    case 'SessionGap':
    case 'SessionSealed':
    case 'SessionClosed':
    case 'InvalidMessage':
    case 'InvalidNote':
    case 'MetadataConflict':
    case 'NotASession':
    case 'UnfinishedSession':
    case 'NewerSession':
    case 'BadProof':
    case 'OtherHead':
      return sessionFaultText(fault)
    default:
      return storeFaultText(fault)
  }
}
