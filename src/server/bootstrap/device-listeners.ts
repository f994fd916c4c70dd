/** The doors for devices, each with what it needs of the house. The REST door is in api.ts, that for operators in back.ts. */
import { signalSessions, sleepSessions } from '../../core/devices/admit-session.ts';
import { reportWake } from '../../core/wakeups/report-wake.ts';
import { SignalListener } from '../../gateways/signal/listener.ts';
import { SleepListener } from '../../gateways/sleep/listener.ts';
import type { ServerContext } from './server-context.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';
import { signalGatewaySettings, sleepGatewaySettings } from '../config/gateway-settings.ts';
import type { Settings } from '../config/settings-schema.ts';
import { formatListenAddress } from '../config/settings-values.ts';

type Reported = Parameters<ServerContext['watch']['reported']>;

export interface DeviceListeners {
  readonly sleep: SleepListener;
  readonly signal: SignalListener;
}

/** `place`: among other processes of this server; null: nobody else has these ports. Throws when TLS is asked for and its files are not in order. */
export function composeDeviceListeners(context: ServerContext, handle: WorkerHandle | null): DeviceListeners {
  const { settings, clock, log, telemetry, records, connections } = context;
  const common = { clock, log, telemetry };
  const admission = {
    ...context,
    wakeups: {
      reported: (...[deviceId, sessionId, report]: Reported) =>
        reportWake(context, deviceId, sessionId, report),
    },
    isOverloaded: () => records.isOverloaded(),
  };
  const sleep: SleepListener = new SleepListener(sleepGatewaySettings(settings), {
    ...common,
    sessions: sleepSessions(admission),
    otherSockets: () => connections.othersOf('sleep'),
    isHanded: handle !== null,
  });
  const signal: SignalListener = new SignalListener(
    { ...signalGatewaySettings(settings), sharesPort: handle !== null },
    {
      ...common,
      sessions: signalSessions(admission),
      sleepServers: () => advertisedSleepServers(settings, sleep),
      otherSockets: () => connections.othersOf('signal'),
    },
  );
  connections.join('sleep', sleep);
  connections.join('signal', signal);
  handle?.sleepPort(sleep);
  return { sleep, signal };
}

/** What controllers are told to have their modules log in to: what is set, or where the sleep port listens. */
function advertisedSleepServers({ sleep }: Settings, listener: SleepListener): readonly string[] {
  return sleep.advertise.length > 0 ? sleep.advertise : [formatListenAddress(listener.address)];
}
