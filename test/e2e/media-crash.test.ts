/**
 * The media process of a real server dies in the middle of calls: no sleeping device and no request of a backend feels
 * it, and the calls go on. Source: calls-and-media.md, The media process.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { SleepingModule } from '../../src/tools/simulator/sleeping-module.ts';
import type { Engine } from '../../src/media/codec/engine.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import type { CallJson } from '../../src/gateways/admin/call-routes.ts';
import { BridgeLeg, DeviceLeg, LegRefused, type MediaLeg } from '../../src/tools/simulator/media-leg.ts';
import type { SourceFrame } from '../../src/model/media/picture.ts';
import { encodeFrameHeader } from '../../src/protocol/media/frame-header.ts';
import { ApiClient } from '../support/api-client.ts';
import { callStatus, issueCall } from '../support/call-actions.ts';
import { h264Film } from '../support/coded-frames.ts';
import { metric, metricsOf } from '../support/driven-server.ts';
import { engineTest } from '../support/engine-test.ts';
import {
  mediaChild,
  startServerProcess,
  type MediaChild,
  type ServerProcess,
  withMedia,
} from '../support/server-process.ts';
import { temporaryDirectory } from '../support/temporary-store.ts';

/** Between two attempts of a peer that finds nobody, or is told to come again. */
const comeBackMs = 50;

/** Connects again and again, until `stop`. */
abstract class ReturningPeer<Leg extends MediaLeg> {
  #leg: Leg | null = null;
  #isStopped = false;
  #fault: unknown = null;
  readonly #whenOver: Promise<void>;

  constructor() {
    // Behind the constructors of those that are built on it.
    this.#whenOver = Promise.resolve().then(() => this.#goOn());
  }

  /** Rejects with what was wrong with any of its connections: it is not let in, or not understood. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#leg?.terminate();
    await this.#whenOver;
    if (this.#fault !== null) throw this.#fault;
  }

  protected abstract connect(): Promise<Leg>;
  /** To its end. */
  protected abstract attend(leg: Leg): Promise<void>;

  async #goOn(): Promise<void> {
    while (!this.#isStopped)
      try {
        this.#leg = await this.connect();
        if (!this.#isStopped) await this.attend(this.#leg);
      } catch (error) {
        if (isForGood(error)) this.#fault ??= error;
        await pause(comeBackMs);
      }
    await this.#leg?.terminate();
  }
}

function isForGood(error: unknown): boolean {
  return error instanceof LegRefused && error.status !== 503;
}

interface Waiter {
  readonly connection: number;
  readonly resolve: (atMs: number) => void;
}

class FlowingDevice extends ReturningPeer<DeviceLeg> {
  readonly #url: string;
  readonly #token: string;
  /** When the first picture of each connection came, monotonic. */
  readonly #firstPictureMs: (number | null)[] = [];
  #waiters: Waiter[] = [];

  readonly #accepts: boolean;

  constructor(url: string, token: string, { accepts }: { readonly accepts: boolean }) {
    super();
    this.#url = url;
    this.#token = token;
    this.#accepts = accepts;
  }

  /** Connections so far. */
  get connections(): number {
    return this.#firstPictureMs.length;
  }

  /** When the first picture of this connection, from 1, came: monotonic. */
  picturesFlow(connection: number): Promise<number> {
    const known = this.#firstPictureMs[connection - 1] ?? null;
    if (known !== null) return Promise.resolve(known);
    return new Promise((resolve) => this.#waiters.push({ connection, resolve }));
  }

  protected async connect(): Promise<DeviceLeg> {
    const connection = this.connections;
    const onFrame = (): void => this.#picture(connection);
    const leg = await DeviceLeg.connect({ url: this.#url, token: this.#token, onFrame });
    this.#firstPictureMs[connection] ??= null;
    return leg;
  }

  protected async attend(leg: DeviceLeg): Promise<void> {
    if (this.#accepts && this.connections === 1) leg.accept();
    await leg.closed;
  }

  #picture(connection: number): void {
    if ((this.#firstPictureMs[connection] ?? null) !== null) return;
    const atMs = performance.now();
    this.#firstPictureMs[connection] = atMs;
    for (const waiter of this.#waiters) if (waiter.connection === connection + 1) waiter.resolve(atMs);
    this.#waiters = this.#waiters.filter((waiter) => waiter.connection !== connection + 1);
  }
}

interface FlowingBridgeAccess {
  readonly url: string;
  readonly key: string;
  /** It comes for this one, and says that its call is connected; without it the bridge stands idle, takes what it is given, and says nothing. */
  readonly session?: string;
}

class FlowingBridge extends ReturningPeer<BridgeLeg> {
  readonly #access: FlowingBridgeAccess;
  readonly #film: readonly SourceFrame[];
  readonly #frameMs: number;
  #next = 0;

  /** `film`: begins with a key frame, and so it does again when one is wanted. */
  constructor(access: FlowingBridgeAccess, film: readonly SourceFrame[], frameMs: number) {
    super();
    this.#access = access;
    this.#film = film;
    this.#frameMs = frameMs;
  }

  protected connect(): Promise<BridgeLeg> {
    return BridgeLeg.connect({ ...this.#access, onKeyFrameWanted: () => (this.#next = 0) });
  }

  protected async attend(leg: BridgeLeg): Promise<void> {
    if (this.#access.session === undefined) await leg.acceptAssignment();
    else {
      await leg.next('start');
      leg.report('connected');
    }
    this.#next = 0;
    let timestampMs = 0;
    const playing = setInterval(() => {
      leg.frame(this.#frame(timestampMs));
      timestampMs += this.#frameMs;
    }, this.#frameMs);
    await leg.closed;
    clearInterval(playing);
  }

  #frame(timestampMs: number): Buffer {
    const index = this.#next;
    this.#next = (index + 1) % this.#film.length;
    const frame = this.#film[index];
    if (frame === undefined) throw new Error('the film has no frames');
    const { format, width, height, payload } = frame;
    const header = { kind: 'video', format, isKeyFrame: index === 0, width, height, timestampMs } as const;
    return Buffer.concat([encodeFrameHeader(header), payload]);
  }
}

const calls = 20;
const sleepingDevices = 5000;
const atOnce = 250;
const wokenEvery = 250;
const credential = { accessKeyId: 'AKmedia', secretKey: 'the secret of a backend', appId: '1' };
const bridgeKey = 'key-of-a-development-bridge';
const frameMs = 200;

function writeRegistry(directory: string): string {
  const { accessKeyId: access_key_id, secretKey: secret_key, appId: app_id } = credential;
  const terms = { permissions: ['*'], not_before: null, not_after: null, revoked: false };
  const device = (device_id: string): object => {
    return {
      device_id,
      product_id: 'p',
      secret: `the long secret of ${device_id}`,
      expires_at: null,
      disabled: false,
    };
  };
  const entries = [
    { app_id, name: 'media' },
    { access_key_id, secret_key, app_id, ...terms },
    { product_id: 'p', app_ids: [app_id] },
    ...Array.from({ length: sleepingDevices }, (_, i) => device(`S${i}`)),
    ...Array.from({ length: calls }, (_, i) => device(`C${i}`)),
  ];
  const file = join(directory, 'registry.ndjson');
  writeFileSync(file, entries.map((entry) => JSON.stringify(entry)).join('\n'));
  return file;
}

async function fallAsleep({ ports }: ServerProcess): Promise<SleepingModule[]> {
  const modules: SleepingModule[] = [];
  for (let from = 0; from < sleepingDevices; from += atOnce) {
    const round = Array.from({ length: atOnce }, (_, i) => {
      const deviceId = `S${from + i}`;
      const localAddress = `127.0.1.${1 + (i % 100)}`;
      return SleepingModule.connect(ports.sleep, {
        deviceId,
        secret: `the long secret of ${deviceId}`,
        heartbeatSeconds: 50,
        localAddress,
      });
    });
    modules.push(...(await Promise.all(round)));
  }
  return modules;
}

/** A backend that never stops asking; what it is answered beside success. */
class AskingBackend {
  readonly faults: string[] = [];
  answers = 0;
  readonly #api: ApiClient;
  readonly #whenDone: Promise<unknown>;
  #isDone = false;

  constructor(api: ApiClient) {
    this.#api = api;
    this.#whenDone = Promise.all([this.#ask(0), this.#ask(1)]);
  }

  async stop(): Promise<void> {
    this.#isDone = true;
    await this.#whenDone;
  }

  async #ask(from: number): Promise<void> {
    for (let i = from; !this.#isDone; i += 2)
      try {
        const status = { ...callStatus, query: `device_id=C${i % calls}` };
        const asked = [this.#api.connectivity(`S${i % sleepingDevices}`), this.#api.call(status)];
        for (const { status: code, json, text } of await Promise.all(asked)) {
          this.answers += 1;
          if (code !== 200 || json.code !== 0) this.faults.push(text);
        }
      } catch (error) {
        this.faults.push(String(error));
      }
  }
}

/** Half of the calls are connected, and of the others nobody has reported anything. */
async function callsInTruth(api: ApiClient, ops: OpsClient): Promise<void> {
  for (let i = 0; i < calls; i += 1) {
    const { json } = await api.call({ ...callStatus, query: `device_id=C${i}` });
    assert.equal(json.data?.['in_call'], true);
  }
  const listing = await ops.ask<{ calls: CallJson[] }>('/v1/calls', new URLSearchParams({ limit: '100' }));
  const found = listing.calls.map(({ state, legs }) => `${state}, ${JSON.stringify(legs)}`).toSorted();
  const expected = ['connected', 'establishing'].flatMap((state) =>
    Array.from({ length: calls / 2 }, () => `${state}, ${JSON.stringify({ device: true, bridge: true })}`),
  );
  assert.deepEqual(found, expected);
}

interface Scene {
  readonly devices: readonly FlowingDevice[];
  readonly bridges: readonly FlowingBridge[];
}

/** Of every other call the bridge stood idle, and was given it. */
async function placeCalls(engine: Engine, api: ApiClient, url: string): Promise<Scene> {
  const film = h264Film(engine, { width: 320, height: 240 }, 10);
  const devices: FlowingDevice[] = [];
  const bridges: FlowingBridge[] = [];
  const place = async (isAssigned: boolean): Promise<void> => {
    const { token, session } = await issueCall(
      { api },
      {
        device_id: `C${devices.length}`,
        msg_room_id: `room-${devices.length}`,
      },
    );
    const device = new FlowingDevice(url, token, { accepts: !isAssigned });
    devices.push(device);
    const access = { url, key: bridgeKey, ...(!isAssigned && { session }) };
    bridges.push(new FlowingBridge(access, film, frameMs));
    await device.picturesFlow(1);
  };
  for (let i = 0; i < calls; i += 1) await place(i % 2 === 1);
  return { devices, bridges };
}

/** Kills it, and resolves when pictures flow in all calls, to how long that took. */
async function crash(server: ServerProcess, { devices }: Scene): Promise<number> {
  const { pid } = await mediaChild(server);
  const killedMs = performance.now();
  process.kill(pid, 'SIGSEGV');
  const flowMs = await Promise.all(devices.map((device) => device.picturesFlow(2)));
  return Math.max(...flowMs) - killedMs;
}

/** Said, not asserted: it depends on what else the machine does. */
function notify(t: TestContext, tookMs: number, { start_ms }: MediaChild): void {
  t.diagnostic(
    `pictures in all of ${calls} calls ${Math.round(tookMs)} ms after the kill, ` +
      `of which ${start_ms} ms are the start of the media process`,
  );
}

engineTest(
  'a crash of the media process costs no sleeping device and no request, and the calls go on',
  async (engine, t) => {
    const directory = temporaryDirectory(t);
    const server = await startServerProcess(t, [
      ...withMedia,
      `data.dir=${join(directory, 'data')}`,
      `registry.file=${writeRegistry(directory)}`,
      `media.bridge_keys=${bridgeKey}`,
      'media.workers=2',
    ]);
    const api = new ApiClient(server.ports.api, credential);
    t.after(() => api.close());
    const ops = new OpsClient(
      `http://127.0.0.1:${server.ports.ops}`,
      findOpsToken(join(directory, 'data')) ?? '',
    );
    const modules = await fallAsleep(server);
    let lost = 0;
    for (const module of modules) void module.closed.then(() => (lost += 1));
    const scene = await placeCalls(engine, api, `ws://127.0.0.1:${server.ports.media}`);
    const peers = [...scene.devices, ...scene.bridges];
    const backend = new AskingBackend(api);
    t.after(async () => {
      await backend.stop();
      await Promise.allSettled(peers.map((peer) => peer.stop()));
      await Promise.all(modules.map((module) => module.close()));
    });

    notify(t, await crash(server, scene), await mediaChild(server, 2));
    await callsInTruth(api, ops);

    await backend.stop();
    assert.deepEqual(backend.faults, []);
    assert.ok(backend.answers > 100, `${backend.answers} answers`);
    assert.equal(lost, 0);
    assert.equal(metric(await metricsOf(server), 'reveille_sleep_sessions'), sleepingDevices);
    for (let i = 0; i < sleepingDevices; i += wokenEvery) {
      const woken = await api.wake({ device_id: `S${i}` });
      assert.equal(woken.status, 202, woken.text);
      await modules[i]?.nextPacket();
    }
    const deaths = server.command.lines.filter((line) => line.includes('"msg":"the media process died;'));
    assert.deepEqual(
      deaths.map((line) => (JSON.parse(line) as { how: string }).how),
      ['SIGSEGV'],
    );
    await Promise.all(peers.map((peer) => peer.stop()));
    assert.equal(await server.command.stop('SIGTERM'), 0);
  },
);
