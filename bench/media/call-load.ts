/** Calls at one server, and the CPU share of its media process. */
import { setTimeout as sleep } from 'node:timers/promises';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { childOf, cpuSecondsOf } from '../../test/support/process-samples.ts';
import type { Player } from '../harness/child.ts';
import type { ReveilleServer } from '../harness/servers.ts';
import type { LegsProtocol, LegsReading } from './legs-process.ts';

interface Played {
  readonly reading: LegsReading;
  /** Shares of a core, of the media process and of the process of the legs. */
  readonly cpuShare: number;
  readonly loadShare: number;
}

export class CallLoad {
  readonly #server: ReveilleServer;
  readonly #legs: Player<LegsProtocol>;
  readonly #hasSound: boolean;
  readonly #mediaPid: number;
  readonly #legsPid: number;
  #sessions: readonly string[] = [];

  constructor(server: ReveilleServer, legs: Player<LegsProtocol>, hasSound: boolean) {
    this.#server = server;
    this.#legs = legs;
    this.#hasSound = hasSound;
    this.#mediaPid = childOf(server.child.process.pid ?? NaN, 'media/process/main');
    this.#legsPid = legs.child.process.pid ?? NaN;
  }

  async idleShare(seconds: number): Promise<number> {
    const before = cpuSecondsOf(this.#mediaPid);
    await sleep(seconds * 1000);
    return (cpuSecondsOf(this.#mediaPid) - before) / seconds;
  }

  async growTo(calls: number): Promise<number> {
    const { httpPort, mediaPort } = this.#server;
    const more = calls - this.#sessions.length;
    const asked = { httpPort, mediaPort, calls: more, hasSound: this.#hasSound };
    if (more > 0) this.#sessions = await this.#legs.service.ask('connect', asked);
    return this.#sessions.length;
  }

  async play(seconds: number): Promise<Played> {
    const [mediaBefore, legsBefore] = [cpuSecondsOf(this.#mediaPid), cpuSecondsOf(this.#legsPid)];
    const reading = await this.#legs.service.ask('play', seconds);
    return {
      reading,
      cpuShare: (cpuSecondsOf(this.#mediaPid) - mediaBefore) / seconds,
      loadShare: (cpuSecondsOf(this.#legsPid) - legsBefore) / seconds,
    };
  }

  /** Worker time per frame, of the median call. */
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
