/**
 * Tens of thousands of devices in one process, asleep or awake: they log in, keep their connections, send heartbeats and report
 * received data. They use many loopback source addresses, because connections per address are limited.
 */
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../harness/latency.ts';
import { beginDialogue, heartbeatOf, type Dialogue, type DialectName } from './dialects.ts';
import { deviceIdentity } from './population.ts';

export interface LoginPlan {
  readonly port: number;
  readonly dialect: DialectName;
  readonly count: number;
  /** Number of the first device. Default: 0. */
  readonly from?: number;
  /** Attempts per device, a second apart. Default: 1. */
  readonly attempts?: number;
}

export interface LoginReading {
  readonly loggedIn: number;
  readonly failed: number;
  readonly firstTrouble: string | null;
  /** On the shared clock. */
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Receives the server's bytes to a device after its login. `chunk` is only valid during the call. */
export type PacketTaker = (device: number, chunk: Buffer) => void;

/** Half of the limits and backlogs of every server, so that the kernel drops no connection. */
export const loginConcurrency = 500;
export const sourceAddresses = 40;
const sliceMs = 10;
const attemptPauseMs = 1000;
/** Shared by all sockets, because data is processed at once. */
const readBuffer = Buffer.alloc(16 * 1024);

export class Fleet {
  /** Connections that ended after their login. */
  lost = 0;
  takePacket: PacketTaker = () => undefined;
  readonly #sockets: Socket[] = [];
  #heartbeat = heartbeatOf('reveille');

  async login(plan: LoginPlan): Promise<LoginReading> {
    this.#heartbeat = heartbeatOf(plan.dialect);
    const startedMs = monotonicMs();
    let next = 0;
    let failed = 0;
    let firstTrouble: string | null = null;
    const loginInTurn = async (): Promise<void> => {
      while (next < plan.count) {
        const trouble = await this.#loginAtLast(plan, (plan.from ?? 0) + next++);
        if (trouble === null) continue;
        failed += 1;
        firstTrouble ??= trouble;
      }
    };
    await Promise.all(Array.from({ length: loginConcurrency }, loginInTurn));
    return { loggedIn: plan.count - failed, failed, firstTrouble, startedMs, endedMs: monotonicMs() };
  }

  /** All devices hang up; none of them counts as lost. */
  hangUp(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }

  /** For `seconds`, sends a heartbeat of each device every `everySeconds`, evenly spread. */
  heartbeats(seconds: number, everySeconds: number): Promise<null> {
    const count = this.#sockets.length;
    const startMs = performance.now();
    let sent = 0;
    return new Promise((resolve) => {
      const timer = setInterval(() => {
        const passed = Math.min((performance.now() - startMs) / 1000, seconds);
        const due = Math.floor((passed / everySeconds) * count);
        for (; sent < due; sent += 1) this.#sockets[sent % count]?.write(this.#heartbeat);
        if (passed < seconds) return;
        clearInterval(timer);
        resolve(null);
      }, sliceMs);
    });
  }

  async #loginAtLast(plan: LoginPlan, index: number): Promise<string | null> {
    const { attempts = 1 } = plan;
    for (let attempt = 1; ; attempt += 1) {
      const trouble = await this.#loginOne(plan, index);
      if (trouble === null || attempt === attempts) return trouble;
      await sleep(attemptPauseMs);
    }
  }

  #loginOne({ port, dialect }: LoginPlan, index: number): Promise<string | null> {
    return new Promise((resolve) => {
      let dialogue: Dialogue | null = beginDialogue(dialect, deviceIdentity(index));
      const enter = (): void => {
        dialogue = null;
        this.#sockets.push(socket);
        resolve(null);
      };
      const received = (length: number): boolean => {
        const chunk = readBuffer.subarray(0, length);
        if (dialogue === null) {
          this.takePacket(index, chunk);
          return true;
        }
        const step = dialogue.received(chunk);
        if (step === 'in') enter();
        else if (step === 'refused') fail(`refused: ${chunk.toString('latin1')}`);
        else if (step !== 'wait') socket.write(step);
        return true;
      };
      const fail = (trouble: string): void => {
        if (dialogue === null) this.lost += 1;
        socket.destroy();
        resolve(trouble);
      };
      const socket = connect({
        host: '127.0.0.1',
        port,
        localAddress: `127.0.0.${2 + (index % sourceAddresses)}`,
        noDelay: true,
        onread: { buffer: readBuffer, callback: received },
      });
      socket.once('error', (error) => fail(error.message));
      socket.once('end', () => fail('the server closed the connection'));
      socket.once('connect', () => {
        if (dialogue?.opening) socket.write(dialogue.opening);
        if (dialogue?.isInAtOnce) enter();
      });
    });
  }
}
