/** The signal listener by itself: no other listener beside it, and nothing to tell controllers of, unless a test gives it. */
import { SignalListener, type SignalListenerDeps } from '../../src/gateways/signal/listener.ts';
import type { SignalSettings } from '../../src/gateways/signal/settings.ts';
import { FakeLog } from './fakes.ts';
import { signalGatewayDefaults } from './listener-defaults.ts';

type Given = Pick<SignalListenerDeps, 'clock' | 'sessions' | 'telemetry'> & Partial<SignalListenerDeps>;

/** It does not listen yet. */
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
