// SPDX-License-Identifier: Apache-2.0
// The module weft-http.so: a table of functions of libcurl and libmicrohttpd, so that weft itself
// starts without them. Nothing else is in it; http.c and server.c, in the program, call through
// the table.

#include "libraries.h"

const struct weft_http_libraries weft_http_libraries = {
    .curl =
        {
            .easy_init = curl_easy_init,
            .easy_setopt = curl_easy_setopt,
            .easy_perform = curl_easy_perform,
            .easy_getinfo = curl_easy_getinfo,
            .easy_cleanup = curl_easy_cleanup,
            .slist_append = curl_slist_append,
            .slist_free_all = curl_slist_free_all,
            .version = curl_version,
        },
    .mhd =
        {
            .start_daemon = MHD_start_daemon,
            .get_daemon_info = MHD_get_daemon_info,
            .get_timeout = MHD_get_timeout,
            .run = MHD_run,
            .stop_daemon = MHD_stop_daemon,
            .add_connection = MHD_add_connection,
            .get_connection_info = MHD_get_connection_info,
            .suspend_connection = MHD_suspend_connection,
            .resume_connection = MHD_resume_connection,
            .lookup_connection_value = MHD_lookup_connection_value,
            .create_response_from_buffer = MHD_create_response_from_buffer,
            .add_response_header = MHD_add_response_header,
            .queue_response = MHD_queue_response,
            .destroy_response = MHD_destroy_response,
            .basic_auth_get_username_password = MHD_basic_auth_get_username_password,
            .free = MHD_free,
        },
};
