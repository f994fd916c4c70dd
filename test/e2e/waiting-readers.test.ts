/** Very many readers that wait for events over real HTTP: who is woken, and who stays until the drain. */
import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { test } from 'node:test';
import { ApiClient, type ApiAnswer } from '../support/api-client.ts';
import { startDrivenServer, type DrivenServer } from '../support/driven-server.ts';
import { testCredentials } from '../support/test-server.ts';

const readersOfEach = 500;

interface Page {
  readonly events: readonly { readonly device_id: string; readonly type: string }[];
  readonly next: string;
}

function pageOf({ status, json, text }: ApiAnswer): Page {
  assert.deepEqual([status, json.code], [200, 0], text);
  return json.data as unknown as Page;
}

/** The readers of one application. */
class Crowd {
  readonly api: ApiClient;
  readonly answered: Page[] = [];
  readonly #reading: Promise<void>[] = [];

  constructor(server: DrivenServer, credential: (typeof testCredentials)['all']) {
    this.api = new ApiClient(server.ports.api, credential, () => server.clock.wallMs());
  }

  /** Each on a connection that is there already, so that all ask before anybody else does anything. */
  async come(count: number): Promise<void> {
    const connected = await Promise.all(Array.from({ length: count }, () => this.#read('after=latest')));
    const { next } = pageOf(connected[0] as ApiAnswer);
    for (let i = 0; i < count; i++)
      this.#reading.push(
        this.#read(`after=${next}&wait=30`).then((answer) => void this.answered.push(pageOf(answer))),
      );
    await this.present();
  }

  /** Resolves when what was asked before has been taken up. */
  async present(): Promise<void> {
    await this.#read('after=latest');
  }

  async all(): Promise<readonly Page[]> {
    await Promise.all(this.#reading);
    return this.answered;
  }

  #read(query: string): Promise<ApiAnswer> {
    return this.api.call({ path: '/v1/events', query });
  }
}

test("of 1 000 waiting readers an event wakes its application's alone; the others are answered at the drain", async () => {
  const server = await startDrivenServer();
  const concerned = new Crowd(server, testCredentials.other);
  const others = new Crowd(server, testCredentials.all);
  await Promise.all([concerned.come(readersOfEach), others.come(readersOfEach)]);
  assert.deepEqual([concerned.answered.length, others.answered.length], [0, 0]);
  const controller = await server.controller('FOREIGN01');
  for (const { events } of await concerned.all())
    assert.deepEqual(
      events.map(({ type, device_id }) => [type, device_id]),
      [['device.signal.online', 'FOREIGN01']],
    );
  await others.present();
  assert.equal(concerned.answered.length, readersOfEach);
  assert.equal(others.answered.length, 0, 'nobody else was woken');
  const stopped = server.server.stop();
  for (const { events } of await others.all()) assert.deepEqual(events, []);
  assert.equal(others.answered.length, readersOfEach);
  server.clock.advance(200);
  await stopped;
  await controller.closed;
  for (const { api } of [server, concerned, others]) api.close();
  await rm(server.dataDirectory, { recursive: true, force: true });
});
