/** A whole server on real sockets with a clock that stands still until a test moves it. */
import assert from 'node:assert/strict';
import { OpsClient } from '../../src/cli/admin/ops-client.ts';
import { findOpsToken } from '../../src/gateways/ops/ops-token.ts';
import { DrivenClock } from './driven-clock.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './test-server.ts';

export interface DrivenServer extends TestServer {
  readonly clock: DrivenClock;
}

/** `clock`: of an earlier server, to restart on its data. The wall clock starts at a full second of today. */
export async function startDrivenServer(
  options: Omit<TestServerOptions, 'clock'> & { readonly clock?: DrivenClock } = {},
): Promise<DrivenServer> {
  const clock = options.clock ?? new DrivenClock(Math.floor(Date.now() / 1000) * 1000);
  const overrides = ['auth.verification=inline', ...(options.overrides ?? [])];
  const server = await startTestServer({ ...options, overrides, clock });
  return {
    ...server,
    clock,
    halt: () => drain(clock, server.halt()),
    stop: () => drain(clock, server.stop()),
  };
}

/** Longer than the first step of a drain at the default rate, which ends all sessions of a test. */
const drainMs = 200;

/** Moves the clock until sessions have ended, and gives the store real time to commit. */
async function drain(clock: DrivenClock, done: Promise<void>): Promise<void> {
  clock.advance(drainMs);
  await done;
}

export function opsOf({ ports, dataDirectory }: TestServer): OpsClient {
  return new OpsClient(`http://127.0.0.1:${ports.ops}`, findOpsToken(dataDirectory) ?? '');
}

/** Ends all sessions of these devices and resolves when the log has the events, so that the next test starts clean. */
export async function clearDevices(server: TestServer, deviceIds: readonly string[]): Promise<void> {
  const ops = opsOf(server);
  for (const deviceId of deviceIds) {
    await ops.change('/v1/device/kick', { device_id: deviceId });
    const { json, text } = await server.api.connectivity(deviceId);
    assert.equal(json.code, 0, text);
  }
}

export async function metricsOf({ ports }: Pick<TestServer, 'ports'>): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${ports.ops}/metrics`);
  return answer.text();
}

/** The value of one metric, by its name and labels as printed; null: absent. */
export function metric(text: string, name: string): number | null {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}
