/** The path of the style sheet of all pages under `/developers`. */
export const STYLE_PATH = '/developers/style.css';
