/** For the packages of this repository, which are released together. Other programs get no promise here. */
export { sessionFaultText, sessionSentences } from './fault.ts'
export { type KeptSession, type Mark, idOfParts, keptSession, keptSessions, marked, removeMarked } from './kept.ts'
