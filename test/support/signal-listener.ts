/** The signal listener alone: without other listeners and without notifications for controllers, unless a test sets them. */
import { SignalListener, type SignalListenerDeps } from '../../src/gateways/signal/listener.ts';
import type { SignalSettings } from '../../src/gateways/signal/settings.ts';
import { FakeLog } from './fakes.ts';
import { signalGatewayDefaults } from './listener-defaults.ts';

type Given = Pick<SignalListenerDeps, 'clock' | 'sessions' | 'telemetry'> & Partial<SignalListenerDeps>;

export function makeSignalListener(given: Given, settings: Partial<SignalSettings> = {}): SignalListener {
  return new SignalListener(
    { ...signalGatewayDefaults, ...settings },
    {
      log: new FakeLog(),
      sleepServers: () => [],
      mediaUrl: () => null,
      otherSockets: () => 0,
      ...given,
    },
  );
}
