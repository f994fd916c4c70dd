/** Calls at one server, and what its media process spends on them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import type { Child } from './child.ts';
import type { LocalLegService } from './ipc.ts';
import type { LegsProtocol, LegsReading } from './legs-protocol.ts';
import { bridgeKey } from './played-call.ts';
import { childOf, cpuSecondsOf } from './process-time.ts';
import type { ReveilleServer } from './servers.ts';

/** Settings of a server that lets in as many calls as come. */
export const carryingEnv = {
  REVEILLE_MEDIA_PROCESS: 'child',
  REVEILLE_MEDIA_BRIDGE_KEYS: bridgeKey,
  REVEILLE_MEDIA_LOAD_MAX: '1',
};

interface Played {
  readonly reading: LegsReading;
  /** Of a core: the media process, and the process of the legs. */
  readonly cpuShare: number;
  readonly loadShare: number;
}

export class CallLoad {
  readonly #server: ReveilleServer;
  readonly #service: LocalLegService<LegsProtocol>;
  readonly #hasSound: boolean;
  readonly #mediaPid: number;
  readonly #legsPid: number;
  #sessions: readonly string[] = [];

  constructor(
    server: ReveilleServer,
    service: LocalLegService<LegsProtocol>,
    legs: Child,
    hasSound: boolean,
  ) {
    this.#server = server;
    this.#service = service;
    this.#hasSound = hasSound;
    this.#mediaPid = childOf(server.child.process.pid ?? NaN, 'media/process/main');
    this.#legsPid = legs.process.pid ?? NaN;
  }

  /** Of a core, while nobody calls. */
  async idleShare(seconds: number): Promise<number> {
    const before = cpuSecondsOf(this.#mediaPid);
    await sleep(seconds * 1000);
    return (cpuSecondsOf(this.#mediaPid) - before) / seconds;
  }

  /** Gives how many there are then. */
  async growTo(calls: number): Promise<number> {
    const { httpPort, mediaPort } = this.#server;
    const more = calls - this.#sessions.length;
    const asked = { httpPort, mediaPort, calls: more, hasSound: this.#hasSound };
    if (more > 0) this.#sessions = await this.#service.ask('connect', asked);
    return this.#sessions.length;
  }

  async play(seconds: number): Promise<Played> {
    const [mediaBefore, legsBefore] = [cpuSecondsOf(this.#mediaPid), cpuSecondsOf(this.#legsPid)];
    const reading = await this.#service.ask('play', seconds);
    return {
      reading,
      cpuShare: (cpuSecondsOf(this.#mediaPid) - mediaBefore) / seconds,
      loadShare: (cpuSecondsOf(this.#legsPid) - legsBefore) / seconds,
    };
  }

  /** The worker's own time for a frame, of the median call. */
  async workTimes(): Promise<{ p50: number; p99: number }> {
    const { opsPort, dataDirectory } = this.#server;
    const ops = new OpsClient(`http://127.0.0.1:${opsPort}`, findOpsToken(dataDirectory) ?? '');
    const times: { readonly p50: number; readonly p99: number }[] = [];
    for (const session of this.#sessions) {
      const { view } = await ops.ask<CarriedCall>('/v1/calls/media', new URLSearchParams({ session }));
      if (view?.work_ms === null || view === null) throw new Error(`call ${session} had no picture`);
      times.push(view.work_ms);
    }
    return { p50: medianOf(times.map(({ p50 }) => p50)), p99: medianOf(times.map(({ p99 }) => p99)) };
  }
}

interface CarriedCall {
  readonly view: { readonly work_ms: { readonly p50: number; readonly p99: number } | null } | null;
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN;
}
