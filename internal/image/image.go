// Package image has what the Dockerfile needs: browser.sh, which copies a headless Chromium without the desktop that
// its package depends on.
package image
