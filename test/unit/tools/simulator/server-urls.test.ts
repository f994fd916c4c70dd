import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { findMediaUrl, findSignalUrl } from '../../../../src/tools/simulator/server-urls.ts';

/** The context of a command without a running server. */
function context(set: readonly string[] = []): CommandContext {
  return new CommandContext({ dataDir: '/nonexistent/reveille', set }, {});
}

const listeners = [
  {
    name: 'media',
    port: 8083,
    find: (named?: string, set?: readonly string[]) => findMediaUrl(context(set), named),
    wrong: ['nowhere', '10.0.0.5:0', 'http://10.0.0.5:8083', 'ws://host/path', ''],
  },
  {
    name: 'signal',
    port: 8082,
    find: (named?: string, set?: readonly string[]) =>
      findSignalUrl(context(set), named === undefined ? {} : { signal: named }),
    wrong: ['nowhere', '10.0.0.5:0', 'http://10.0.0.5:8082', ''],
  },
];

for (const { name, port, find, wrong } of listeners) {
  test(`a named ${name} listener is used, as an address or as a URL`, () => {
    assert.equal(find(`10.0.0.5:${port}`), `ws://10.0.0.5:${port}`);
    assert.equal(find(`wss://${name}.example`), `wss://${name}.example`);
  });

  test(`an invalid ${name} listener is a usage error`, () => {
    for (const text of wrong)
      assert.throws(
        () => find(text),
        (error) => error instanceof CommandError && error.exitCode === 2,
        text,
      );
  });

  test(`the default ${name} listener is that of the settings, with TLS if they name a certificate`, () => {
    assert.equal(find(), `ws://127.0.0.1:${port}`);
    assert.equal(find(undefined, [`${name}.listen=0.0.0.0:9000`]), `ws://127.0.0.1:9000`);
    const certificate = [`${name}.tls_cert_file=cert.pem`, `${name}.tls_key_file=key.pem`];
    assert.equal(find(undefined, certificate), `wss://127.0.0.1:${port}`);
  });
}

test('a signal URL keeps its path, for a proxy', () => {
  const url = 'wss://signal.example/behind/a/proxy';
  assert.equal(findSignalUrl(context(), { signal: url }), url);
});

test('a named sleep server has no signal listener unless that is named too', () => {
  const server = '10.0.0.5:8081';
  assert.equal(findSignalUrl(context(), { server }), null);
  assert.equal(findSignalUrl(context(), { server, signal: '10.0.0.5:8082' }), 'ws://10.0.0.5:8082');
});
