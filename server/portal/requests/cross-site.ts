import { AppError } from '../../../shared/errors.ts';

/**
 * Throws `cross_site` unless the browser states that a page of this origin sent the form: in `Sec-Fetch-Site` or, if that
 * header is absent (as over plain HTTP), in `Origin`. SameSite cookies don't protect against other hosts of the same site.
 */
export function refuseCrossSite({ method, headers }: Pick<Request, 'method' | 'headers'>, publicUrl: string): void {
  if (method !== 'POST') return;
  const site = headers.get('sec-fetch-site');
  const isOwn = site === null ? headers.get('origin') === new URL(publicUrl).origin : site === 'same-origin';
  if (!isOwn) throw new AppError('cross_site');
}
