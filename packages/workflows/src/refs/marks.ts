/** What a message was there for, by the names that Sidekick has for it, as the marks that `manageHistory` knows. */
export const marks: ReadonlyMap<string, string> = new Map([
  ['UserFeedback', 'feedback'],
  ['TestResult', 'test_result'],
  ['SelfReviewFeedback', 'self_review'], // its name until it was the next
  ['AutoReviewFeedback', 'self_review'],
  ['Summary', 'summary'],
])
