/** The settings of each listener where nothing is configured, from the settings schema. */
import {
  mediaProcessSettings,
  signalGatewaySettings,
  sleepGatewaySettings,
} from '../../src/server/config/gateway-settings.ts';
import { loadSettings } from '../../src/server/config/settings.ts';

const settings = loadSettings({ env: {} });

export const sleepGatewayDefaults = sleepGatewaySettings(settings);
export const signalGatewayDefaults = signalGatewaySettings(settings);
export const mediaLegsDefaults = mediaProcessSettings(settings).legs;
