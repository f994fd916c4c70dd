/** Compares `docs/reference/cli.md` with the program. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCliPage, readCliPage } from '../support/cli-page.ts';

test('docs/reference/cli.md has the help of every command as the program prints it', async () => {
  const made = await makeCliPage();
  assert.match(made, /^## reveille registry import$/m);
  assert.ok(
    made === readCliPage(),
    'a command has changed; regenerate the page: node --import tsx test/support/cli-page.ts',
  );
});
