import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { findApi } from '../../../../src/cli/api/api-access.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';

test('an API without a certificate has an http origin', (t) => {
  const context = new CommandContext({ dataDir: temporaryDirectory(t) }, {});
  assert.deepEqual(findApi(context, undefined), { origin: 'http://127.0.0.1:8080', certificate: null });
});

test('an unreadable certificate is named, with another way to reach the server', (t) => {
  const dataDir = temporaryDirectory(t);
  const noCertificate = join(dataDir, 'tls.crt');
  writeFileSync(noCertificate, 'no certificate');
  for (const file of [noCertificate, '/nowhere/tls.crt']) {
    const set = [`api.tls_cert_file=${file}`, 'api.tls_key_file=tls.key'];
    assert.throws(
      () => findApi(new CommandContext({ dataDir, set }, {}), undefined),
      (error) =>
        error instanceof CommandError && error.message.includes(file) && /--url/.test(error.advice ?? ''),
    );
  }
});
