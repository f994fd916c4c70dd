/** What the process that plays backends and devices can be asked. */
import type { LoginPlan, LoginReading } from './fleet.ts';
import type { LoadReading, LoadShape } from './http-load.ts';
import type { LatencyReading } from './latency.ts';
import type { AskedKind } from './signed-requests.ts';

export const loadService = 'load';

export interface WakeReading {
  /** From when the POST was due to when its 8 bytes were read at the device. */
  readonly wake: LatencyReading;
  /** Answers to the POSTs. */
  readonly answers: LoadReading;
  /** Wakeups whose packet did not come. */
  readonly missing: number;
  /** Anything else that came: other bytes, or a packet nobody asked for. */
  readonly strange: number;
}

export type LoadProtocol = {
  login: { take: LoginPlan; give: LoginReading };
  /** Each device sends one a second for so many seconds; gives how many were sent. */
  heartbeats: { take: number; give: number };
  /** For so long, one of each device every so often; gives how many were sent. */
  heartbeatCalmly: { take: { seconds: number; everySeconds: number }; give: number };
  /** The devices that such a process holds, of those that connected to the port. */
  devicesAt: { take: { pid: number; port: number }; give: number[] };
  /** Connections that ended after their login. */
  lost: { take: null; give: number };
  /** Devices times dates distinct requests are made and kept. */
  signQueries: { take: { kind: AskedKind; devices: number; dates: number }; give: null };
  query: { take: LoadShape; give: LoadReading };
  /** The same devices in batches, beside them. */
  signBatches: { take: { devices: number; dates: number }; give: null };
  queryBatches: { take: LoadShape; give: LoadReading };
  /** `isNeighbour`: signed by the other application. */
  signWakeups: {
    take: { devices: number | readonly number[]; count: number; isNeighbour?: boolean };
    give: null;
  };
  wakeAtRate: { take: LoadShape; give: WakeReading };
  wakeOneByOne: { take: { port: number; count: number; heldBy?: number }; give: WakeReading };
};
