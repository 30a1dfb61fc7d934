import { testConfig } from '../world.ts';

/** The settings of a service of which no admin is told anything. */
export const MAIL_CONFIG = testConfig({ MAIL_URL: 'file:/nowhere' });
