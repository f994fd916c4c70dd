/** Tests the runner of a page's blocks: it accepts good ones and rejects bad ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readBlocks } from '../../support/document-blocks.ts';
import { PageShell } from '../../support/page-shell.ts';
import { temporaryDirectory, type Ending } from '../../support/temporary-store.ts';

/** Runs a page. Resolves to the output of each block; rejects at the first that fails. */
async function follow(t: Ending, page: string): Promise<string[]> {
  const { PATH } = process.env;
  const shell = new PageShell(t, { PATH, PWD: temporaryDirectory(t) });
  const printed: string[] = [];
  for (const block of readBlocks(page)) printed.push(await shell.run(block));
  shell.checkGoingOn();
  return printed;
}

const sh = (commands: string, ...marks: string[]): string =>
  [...marks.map((mark) => `<!-- docs-test: ${mark} -->\n`), '```sh', commands, '```\n'].join('\n');
const shown = (text: string): string => `\`\`\`console\n${text}\n\`\`\`\n`;

test('a block fails if any of its commands fails, also within a pipe, or reads an unset variable', async (t) => {
  await assert.rejects(follow(t, sh('echo before; false\necho after')), /it failed:\nbefore\n$/);
  await assert.rejects(follow(t, sh('false | cat')), /it failed/);
  await assert.rejects(follow(t, sh('echo "$NOBODY_SET_IT"')), /NOBODY_SET_IT: unbound variable/);
});

test('a block fails if it ends without the awaited text, or fails after it', async (t) => {
  await assert.rejects(
    follow(t, sh('echo steady', 'until ready')),
    /ended before it printed "ready":\nsteady/,
  );
  const failing = sh('echo $$ >pid; mkfifo pipe; echo ready; cat pipe; echo broken; exit 3', 'until ready');
  const untilItEnds = sh('echo >pipe; while kill -0 "$(cat pid)" 2>/dev/null; do :; done');
  await assert.rejects(
    follow(t, failing + untilItEnds + sh('true', 'stop')),
    /it went on and failed:\nready\n\nbroken/,
  );
});

test("a reader's copying is a variable; what was never printed fails", async (t) => {
  const made = sh('printf "made\\nkey   abc-1 (once)\\n"');
  assert.equal((await follow(t, made + sh('echo "$KEY"', 'take KEY after made key')))[1], 'abc-1\n');
  await assert.rejects(
    follow(t, made + sh('true', 'take KEY after token')),
    /nothing was printed after "token"/,
  );
});

test('a console block prints the lines of the page in order, apart from times, numbers and column widths', async (t) => {
  const command = "$ printf 'NAME  MADE\\nalice   2026-11-22T17:21:32Z\\n'";
  await follow(t, shown(`${command}\nNAME     MADE\nalice    2025-01-02T03:04:05Z`));
  await assert.rejects(follow(t, shown(`${command}\nbob 2026-11-22T17:21:32Z`)), /it did not print "bob/);
  await assert.rejects(follow(t, shown('$ printf "a\\nb\\n"\nb\na')), /it did not print "a"/);
});
