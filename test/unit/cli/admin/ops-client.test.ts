/** The client of the ops listener with peers that are not ops listeners, or that disconnect. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { OpsClient } from '../../../../src/cli/admin/ops-client.ts';
import { OpsUnavailableError } from '../../../../src/cli/admin/ops-refusal.ts';
import { CommandError } from '../../../../src/cli/shell/command-error.ts';
import { temporaryDirectory, type Ending } from '../../../support/temporary-store.ts';

async function clientOf(t: Ending, answer: RequestListener): Promise<OpsClient> {
  const server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => void server.close());
  return new OpsClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 'token');
}

for (const status of [200, 301, 404, 502])
  test(`a web page that answers ${status} is reported as no ops listener`, async (t) => {
    const client = await clientOf(t, (_request, response) => response.writeHead(status).end('<html>'));
    const told = {
      name: 'CommandError',
      message: `there is no ops listener at this address: HTTP ${status}`,
    };
    await assert.rejects(client.ask('/v1/calls'), told);
    await assert.rejects(client.change('/v1/device/kick', {}), (error) => {
      assert.ok(error instanceof CommandError);
      assert.equal(error instanceof OpsUnavailableError, status >= 500);
      return true;
    });
  });

test('a truncated answer means that the server is unavailable', async (t) => {
  const client = await clientOf(t, (_request, response) => {
    response.writeHead(200, { 'Content-Length': 100 }).write('{"kicked":');
    setImmediate(() => response.destroy());
  });
  await assert.rejects(client.change('/v1/device/kick', {}), OpsUnavailableError);
});

test('a broken import is reported as one with an unknown result', async (t) => {
  for (const line of [
    '{"progress":{"phase":"reading","entries":1,"share":0.5}}\n',
    'no line of an import\n',
  ]) {
    const client = await clientOf(t, (request, response) => {
      request.resume().on('end', () => {
        response.write(line);
        setImmediate(() => response.destroy());
      });
    });
    const file = join(temporaryDirectory(t), 'registry.json');
    writeFileSync(file, '{}');
    await assert.rejects(client.importFile(file, { replace: false, dryRun: false, deletions: 'few' }), {
      message: 'the server closed the connection during the import',
    });
  }
});
