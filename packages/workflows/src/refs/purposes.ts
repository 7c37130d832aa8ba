/** The marks of `manageHistory` for Sidekick's message purposes. */
export const marksByPurpose: ReadonlyMap<string, string> = new Map([
  ['UserFeedback', 'feedback'],
  ['TestResult', 'test_result'],
  ['SelfReviewFeedback', 'self_review'], // the former name of the next
  ['AutoReviewFeedback', 'self_review'],
  ['Summary', 'summary'],
])
