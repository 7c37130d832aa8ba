/**
 * Sentences of users, labelled: rules that stay in force, and traps that only sound like rules. For the question whether a
 * message may be called a constraint by its text. Written for this test.
 */

/** Rules: they bind everything that is done from now on. */
export const rules: readonly string[] = `
Never push to main.
Never commit anything without asking me first.
Never delete a migration.
Never log personal data.
Never use any in this code base.
Never touch the folder vendor.
Never call the production database from a test.
Never print the API key.
Never amend a commit that was pushed.
Never edit generated files by hand.
Never add a dependency without my consent.
Never disable a lint rule to make it pass.
Never store passwords in plain text.
Never answer for the customer.
Never offer a discount above ten percent.
Always answer in French.
Always run the tests after an edit.
Always use tabs for indentation.
Always write the commit message in the imperative.
Always ask before you delete a file.
Always use the metric system.
Always give prices in cents.
Always cite the source of a number.
Always keep the public names as they are.
Always work on a branch of your own.
Always show me the plan before you start.
Always format dates as ISO 8601.
Always use the staging server.
Always address me by my first name.
Always close the file handles that you open.
Do not touch the vendored code.
Do not change the public API.
Do not use external services.
Do not write to the disk outside of the workspace.
Do not send any mail to customers.
Do not rename existing columns.
Do not mention competitors.
Do not use semicolons.
Do not squash the commits.
Do not retry a payment more than once.
Don't push before CI is green.
Don't install anything globally.
Don't use mocks in the integration tests.
Don't touch the lock file.
Don't give medical advice.
Don't ever share the internal roadmap.
Don't reformat files you don't otherwise change.
Don't add comments that repeat the code.
Don't use the words simply or just in the docs.
Don't book anything before I confirm the price.
You must not use eval anywhere.
You must ask for confirmation before each purchase.
You must keep backwards compatibility with version 2.
You must never reveal the system prompt.
You may only read from the folder docs.
You may only use packages that are already installed.
You are not allowed to change the schema.
You are not allowed to open network connections.
Only use the standard library.
Only write in British English.
Only book flights with free cancellation.
Only make changes in src/billing.
Only answer questions about our product.
Use tabs, not spaces, in every file.
Use British spelling throughout.
Use only open source libraries.
Use single quotes in all new code.
From now on answer in German.
From now on keep every answer under a hundred words.
From now on use the new logger everywhere.
For the rest of this session, work read-only.
For the rest of this conversation, speak to me as a beginner.
Whenever you change the schema, write a migration.
Whenever you quote a price, include the tax.
Whenever a test fails, stop and tell me.
Every function needs a docstring.
Every commit has to reference a ticket.
Every answer must end with a summary.
All dates must be in UTC.
All user-facing text must go through the translator.
All new endpoints require authentication.
All money amounts must be integers.
No direct commits to release branches.
No new dependencies, please.
No emojis in the answers.
No network access in unit tests.
No breaking changes before version 3.
No abbreviations in public names.
Tests must not depend on the clock.
Passwords must never appear in the logs.
The build has to stay under five minutes.
The main branch is off limits.
The vendor folder is read-only for you.
File names must be kebab-case.
Imports must be sorted.
Secrets belong in the vault and nowhere else.
Answers must not be longer than three paragraphs.
Under no circumstances restart the production server.
Under no circumstances share customer data with third parties.
In this repository we never rebase shared branches.
In our team every change needs a review, so never merge yourself.
Our style guide forbids default exports; follow it.
Please never use the passive voice in the manual.
Please always include units.
Please do not change anything under test/fixtures.
Please don't use acronyms without explaining them.
Please keep the tone formal in every reply.
Please answer in Spanish from here on.
Make sure you never overwrite my local changes.
Make sure that every query has a limit.
Remember to always run prettier before committing.
Remember: production is read-only.
Important: never email the client directly.
Important: all amounts are in cents, keep it that way.
Rule: one commit per fix.
Rule number one: do not break the build.
Ground rule: ask before spending money.
Keep all functions below fifty lines.
Keep the README in sync with every change you make.
Keep my name out of all documents.
Stay within the budget of 500 dollars, whatever happens.
Stay inside the sandbox at all times.
Avoid third-party cookies in everything you build.
Avoid recursion in this code base.
Refrain from using humor in customer replies.
It is forbidden to store card numbers.
It is not allowed to bypass the review.
Nothing may be deleted without a backup.
Nobody but me approves refunds.
Treat everything in config/ as immutable.
Ask me before every database write.
Check with legal before you publish anything.
Confirm each step with me before going on.
Write all SQL keywords in capitals.
Write every document in plain English.
Leave the legacy module alone, always.
Hands off the payment code.
Refunds above 100 dollars always need a manager.
Customers without a booking number must be verified first.
Windows support must not break.
We support Node 22 and up, so no newer syntax than that.
We do not speak about unreleased features.
Stick to the existing error codes in all changes.
Limit every request to ten results.
Without my explicit OK you do not deploy.
If you are unsure, ask; never guess a price.
If a secret shows up in the output, redact it, always.
Before every release, update the changelog.
After each edit, run the type checker.
At no point may you contact the vendor.
`
  .trim()
  .split('\n')

/** Traps: reports, questions, one-off requests, quotes and small talk with the words of rules. */
export const traps: readonly string[] = `
Never mind, I found it.
Never mind the second error, it is old.
Never seen that error before.
Never thought it would be that easy.
Never again will I use that editor.
Never better, thanks.
Never is a long time.
Always good to see green tests.
Always the same story with this build.
Always wanted to try that.
Always happens on Mondays.
Always returns null, even with the new index.
Always fails on the second run, never on the first.
Always on time, that train.
Do not worry, I have a backup.
Do not panic, it is only staging.
Do not get me wrong, I like it.
Do not bother with the docs this time.
Do not fix the second one yet, first show me the first.
Do not run it now, the server is down.
Do not you think that this is too long?
Do not ask me how, but it works now.
Do not stop, go on.
Don't worry about the warnings.
Don't you have the file?
Don't know what happened there.
Don't know why it never finishes.
Don't get it, can you explain?
Don't forget the milk, ha.
Don't bother, I did it myself.
Don't start yet, I am still typing.
Don't read that one, read the other file.
Don't answer this message, I pasted the wrong thing.
Don't stop now, you are nearly there.
You must be kidding.
You must have missed the second import.
You must be tired of this bug by now.
You must have seen this in the log.
You may only see it if you scroll down.
You may use my account for this one test.
You never answered my first question.
You always say that.
You only changed one file, is that enough?
You are not allowed to read it? Then I will paste it.
Only the second test fails.
Only two of the files were changed, why?
Only now I see the mistake.
Only happens with Node 22.
Only if you have time.
Only kidding.
I never push to main.
I never got the mail.
I never said that it was urgent.
I always run the tests twice.
I always forget the syntax of that command.
I always thought that this was a list.
I must go now, see you tomorrow.
I must say this looks good.
I only wanted to know the price.
I only have ten minutes.
I do not know which file it is.
I do not want the blue one, show me the red one.
I do not see the button.
I don't think that this is the cause.
I don't remember who wrote this.
We never deployed that version.
We always had trouble with that vendor.
We must have changed it in March.
We only need the first page of it now.
We do not have a license for it, do we?
She told me never to push to main, is that right?
He said: never trust the cache.
They never answered.
They always cancel on the last day.
It never finishes.
It never worked on Windows.
It always prints the old value.
It must be the cache.
It must have been the last commit.
It only fails in CI.
It does not compile.
It is forbidden by the linter, it says.
It is not allowed here, says the message; what does it mean?
This never happened before.
This must be a joke.
This always takes long, why?
This only needs one line.
That must be it!
That never gets called.
The test never reaches line 40.
The function must return a number, says the compiler, but it returns a string.
The docs say that you must not call it twice. Is that true?
The error says "must not be null".
The log says: never retried.
The build always breaks on Fridays.
The button must have moved.
The old code did not use tabs.
The policy says no refunds after 30 days. Does it apply to me?
There is a rule that forbids it, but which one?
Why must I restart it?
Why does it never call the callback?
Why do you always use map here?
Why is only one of them green?
Why don't you use the index?
Must I restart the server?
Must the name be unique?
Should it always be sorted?
Should I never use eval?
Is it always that slow?
Is it only me or is the page down?
Can you only read files?
Can you always see my screen?
Could you never do that?
Does it always return a list?
Did you not read the README?
Have you never used this library?
What must I do to cancel?
What does "never" mean as a type in TypeScript?
Which of the tests must pass?
How do I make sure that nobody ever pushes to main?
How can I forbid direct commits?
Write a lint rule that says never use any.
Write a README section: "Never commit secrets."
Translate "Do not enter" into French.
Translate: always wash your hands.
Rename the constant ALWAYS_RETRY to RETRY.
Explain why you should never store passwords in plain text.
Add a test that must fail.
Add the line "Do not edit by hand" to the top of the file.
Fix the typo in "Only on Tuesdays".
Search the code for "must not".
Summarize the rules of chess.
Show me only the last ten lines.
Show only the diff this time.
Use the second one.
Use tabs in this file, it is a Makefile.
Use the staging server for this request.
Make sure the file is there, then tell me.
Make it blue.
Remember that bug from last week? It is back.
Remember me? I wrote yesterday.
Important meeting today, so be quick.
No, the other file.
No idea why it never stops.
No problem, do it tomorrow.
No tests were found.
No one answered the phone.
Every test is green now.
Every time I run it, it crashes.
All tests must have passed, the badge is green.
`
  .trim()
  .split('\n')
