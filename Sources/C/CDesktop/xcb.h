#pragma once
#include <xcb/xcb.h>
#include <xcb/xcbext.h>

/* A request of MIT-SCREEN-SAVER, for which libxcb has a library of its own; the numbers are in xcb-proto's screensaver.xml.
   Returns the sequence number of a query, whose reply has the state in its second byte. */
enum { NOTIFYD_SAVER_QUERY = 1, NOTIFYD_SAVER_SELECT = 2 };
static inline unsigned notifyd_saver_request(xcb_connection_t *connection, uint8_t extension, uint8_t number, uint32_t root) {
    struct { uint8_t extension, number; uint16_t length; uint32_t drawable, events; } request = {extension, number, 0, root, 1};
    int is_query = number == NOTIFYD_SAVER_QUERY;
    /* libxcb writes before the vector. */
    struct iovec parts[3] = {{0}, {0}, {&request, sizeof request - (is_query ? sizeof request.events : 0)}};
    xcb_protocol_request_t protocol = {.count = 1, .opcode = extension, .isvoid = !is_query};
    return xcb_send_request(connection, is_query ? XCB_REQUEST_CHECKED : 0, parts + 2, &protocol);
}
