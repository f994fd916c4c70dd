/** Default settings of each listener from the schema; listeners for devices use a free port. */
import { mediaProcessSettings } from '../../src/server/config/derived-settings.ts';
import { loadSettings } from '../../src/server/config/settings.ts';

const settings = loadSettings({ env: {} });
const listen = { host: '127.0.0.1', port: 0 };

export const sleepGatewayDefaults = { ...settings.sleep, listen };
export const signalGatewayDefaults = { ...settings.signal, listen };
export const mediaLegsDefaults = mediaProcessSettings(settings).legs;
