/** Sidekick's names for the purpose of a message, and the marks of `manageHistory` for them. */
export const marks: ReadonlyMap<string, string> = new Map([
  ['UserFeedback', 'feedback'],
  ['TestResult', 'test_result'],
  ['SelfReviewFeedback', 'self_review'], // its name until it was the next
  ['AutoReviewFeedback', 'self_review'],
  ['Summary', 'summary'],
])
