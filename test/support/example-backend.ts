/** The example backend in this process, beside a server and a simulated messaging app, and what its log says. */
import { startBackend, type Backend } from '../../docs/examples/backend/backend.ts';
import type { BackendSettings } from '../../docs/examples/backend/settings.ts';
import type { StepFields } from '../../docs/examples/backend/step-log.ts';
import { SimulatedMessagingApp, type PhoneCall } from './simulated-messaging-app.ts';
import type { TestServer } from './test-server.ts';

export const pushSecrets = {
  token: 'planted-push-token',
  encodingAesKey: 'plantedAesKeyplantedAesKeyplantedAesKey0123',
  appId: 'miniprogram1',
};

export interface Step {
  readonly step: string;
  readonly fields: StepFields;
}

/** Steps of the log, to be waited for in any order. */
export class Steps {
  readonly all: Step[] = [];
  #onStep: () => void = () => undefined;

  readonly add = (step: string, fields: StepFields = {}): void => {
    this.all.push({ step, fields });
    this.#onStep();
  };

  of(room: string, step?: string): readonly Step[] {
    return this.all.filter((one) => one.fields['room'] === room && (step === undefined || one.step === step));
  }

  /** The first that is wanted, said before or after. */
  async until(isWanted: (step: Step) => boolean): Promise<StepFields> {
    for (;;) {
      const found = this.all.find(isWanted);
      if (found !== undefined) return found.fields;
      await new Promise<void>((resolve) => {
        this.#onStep = resolve;
      });
    }
  }

  /** How a room's call ended for the backend. */
  untilEnd(room: string): Promise<StepFields> {
    return this.until(
      ({ step, fields }) => fields['room'] === room && (step === 'call.delivered' || step === 'call.failed'),
    );
  }
}

export interface BackendScene {
  readonly backend: Backend;
  readonly app: SimulatedMessagingApp;
  readonly steps: Steps;
}

export async function startBackendScene(
  server: TestServer,
  settings: Partial<BackendSettings> = {},
): Promise<BackendScene> {
  const steps = new Steps();
  const backend = await startBackend(
    {
      origin: `http://127.0.0.1:${server.ports.api}`,
      credential: server.credentials.all,
      secrets: pushSecrets,
      host: '127.0.0.1',
      port: 0,
      path: '/push',
      answerWithinMs: 3000,
      callingTimeoutS: 30,
      callMsMax: 30_000,
      callsMax: 20,
      retryPauseMs: 10,
      defaultMedia: { no_video: true, audio_rate: 8000, audio_channels: 1 },
      ...settings,
    },
    steps.add,
  );
  const app = new SimulatedMessagingApp({ url: `http://127.0.0.1:${backend.port}/push`, ...pushSecrets });
  return { backend, app, steps };
}

let rooms = 0;

/** A phone in a room of its own. */
export function phoneCall(deviceId: string): PhoneCall {
  rooms += 1;
  return {
    roomId: `room-${rooms}`,
    sessionKey: `planted-session-key-${rooms}`,
    serverToken: `planted-server-token-${rooms}`,
    modelId: 'model_1',
    deviceId,
    payload: 'the garden door',
  };
}
