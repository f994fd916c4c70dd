import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { addTrustOptions, findTrust } from '../../../../src/cli/shell/server-trust.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { temporaryDirectory } from '../../../support/temporary-store.ts';
import { noOpenssl, TestCertificate } from '../../../support/test-certificate.ts';

const context = new CommandContext({}, {});

test("without options the command trusts Node's certificate authorities", () => {
  assert.equal(findTrust(context, {}), undefined);
});

test('--insecure trusts any certificate, and warns people and machines apart from the answer', (t) => {
  const { mock } = t.mock.method(process.stderr, 'write', () => true);
  for (const json of [false, true])
    assert.deepEqual(findTrust(new CommandContext({ json }, {}), { insecure: true }), {
      rejectUnauthorized: false,
    });
  const [text = '', json = ''] = mock.calls.map(({ arguments: [written] }) => String(written));
  assert.match(text, /^warning: --insecure: the certificate is not checked, .*\n$/);
  assert.match((JSON.parse(json) as { warning: string }).warning, /^--insecure: the certificate/);
});

test('--ca trusts every certificate of its file, and no others', { skip: noOpenssl }, (t) => {
  const directory = temporaryDirectory(t);
  const certificate = new TestCertificate(directory);
  const both = ['one', 'two'].map((name) => String(certificate.certificateOf(name)));
  const file = join(directory, 'both.pem');
  writeFileSync(file, `two of them\n${both.join('\n')}`);
  assert.deepEqual(findTrust(context, { ca: file }), { ca: both, allowPartialTrustChain: true });
});

test('a file without a certificate is refused by its name', (t) => {
  const file = join(temporaryDirectory(t), 'ca.pem');
  writeFileSync(file, 'no certificate');
  for (const ca of [file, '/nowhere/ca.pem'])
    assert.throws(
      () => findTrust(context, { ca }),
      (error) => error instanceof CommandError && error.message.startsWith(`--ca ${ca}: `),
    );
});

test('--ca and --insecure together are a usage error', () => {
  const command = addTrustOptions(
    new Command().exitOverride().configureOutput({ writeErr: () => undefined }),
  );
  assert.throws(() => command.parse(['--ca', 'x', '--insecure'], { from: 'user' }), /cannot be used with/);
});
